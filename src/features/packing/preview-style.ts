/** Styles for light mode, dark mode and print; nothing is fetched. */
export const previewStyle = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #d9dfe6; --paper: #ffffff; --tint: #f4f6f9; --accent: #0b6e5f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ef; --soft: #a3afbd; --line: #35404d; --paper: #151a21; --tint: #1d242d; --accent: #5fcab6; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem; border-bottom: 2px solid var(--accent); }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .5rem 0; white-space: pre-line; overflow-wrap: anywhere; }
a { color: var(--accent); }
a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .35rem 1.5rem; margin: 1rem 0; }
dt { color: var(--soft); }
dt a { color: inherit; text-decoration-style: dotted; }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-line; }
.wide { overflow-x: auto; }
.wide + .wide { margin-top: 1.5rem; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td { overflow-wrap: anywhere; min-width: 6rem; }
.type { overflow-wrap: normal; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
code, pre { font-family: ui-monospace, monospace; font-size: .86rem; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: .4rem; padding: 1rem; overflow-x: auto; tab-size: 4; }
figure { margin: 1rem 0; }
figure img { display: block; max-width: 100%; max-height: 32rem; background: #fff; border: 1px solid var(--line); border-radius: .4rem; }
figcaption { color: var(--soft); font-size: .88rem; overflow-wrap: anywhere; }
.failed { color: var(--bad); font-weight: 600; }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .6rem; } }
`.trim();
