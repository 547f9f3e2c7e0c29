/**
 * The style sheet of every page: one type scale, one scale of space, colours for light and dark, and the components that
 * pages are made of. It stands in each page as it is, so that a page needs nothing else; its hash is in the policy.
 */

import { crateStyle } from './crate-style.ts';
import { documentStyle } from './document-style.ts';
import { graphStyle } from './graph-style.ts';

/** Contrast of text is at least 4.5 : 1 in both (WCAG AA); `style.test.ts` computes it. */
export const colours = {
  light: {
    ground: '#f7f6f3',
    surface: '#ffffff',
    ink: '#1c2126',
    muted: '#59636e',
    line: '#dedbd4',
    accent: '#0b6a5c',
    'on-accent': '#ffffff',
    code: '#f1efea',
    warning: '#8a4b00',
    danger: '#a8231c',
  },
  dark: {
    ground: '#14171a',
    surface: '#1c2024',
    ink: '#e8eaec',
    muted: '#a3adb7',
    line: '#333a41',
    accent: '#63cbb5',
    'on-accent': '#08211c',
    code: '#262b30',
    warning: '#f0b35c',
    danger: '#ff9d94',
  },
} as const;

/** Colours as variables of CSS. */
export const listColours = (set: Readonly<Record<string, string>>): string =>
  Object.entries(set)
    .map(([name, value]) => `--${name}: ${value};`)
    .join(' ');

export const style = `:root { color-scheme: light dark; ${listColours(colours.light)}
  --small: 0.875rem; --large: 1.25rem; --huge: 1.6rem; --space: 1rem;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { ${listColours(colours.dark)} } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
body { margin: 0; background: var(--ground); color: var(--ink); }
.frame { max-width: 60rem; margin: 0 auto; padding: 0 var(--space) calc(3 * var(--space)); }
.brand { display: flex; align-items: center; gap: 0.55rem; padding: 1.4rem 0; font-weight: 600; }
.brand svg { width: 1.4rem; height: 1.4rem; color: var(--accent); flex: none; }
.brand nav { display: flex; flex-wrap: wrap; align-items: center; justify-content: flex-end; gap: 0.2rem; margin-left: auto; font-weight: 500; }
.brand nav a { color: var(--muted); text-decoration: none; padding: 0.35rem 0.6rem; border-radius: 8px; }
.brand nav a:hover { color: var(--ink); }
.brand nav a[aria-current] { color: var(--accent); background: var(--code); }
h1 { font-size: var(--huge); line-height: 1.25; margin: 0 0 0.4rem; font-weight: 650; overflow-wrap: anywhere; }
h2 { font-size: var(--large); line-height: 1.3; margin: 2rem 0 0.8rem; font-weight: 620; }
p { margin: 0 0 0.8rem; }
a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 14px;
  padding: clamp(1.1rem, 3vw, 2rem); }
.narrow { max-width: 32rem; margin: 0 auto; }
.muted { color: var(--muted); }
.facts { color: var(--muted); margin: 0 0 1.4rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0 0.6rem; }
.facts > * + *::before { content: "·"; margin-right: 0.6rem; }
.note { border-left: 4px solid var(--warning); padding: 0.1rem 0 0.1rem 0.9rem; margin: 1.2rem 0; }
.failed { border-left-color: var(--danger); }
.actions { display: flex; flex-wrap: wrap; gap: 0.8rem; align-items: center; margin: 1.2rem 0 0; }
.button, button { font: inherit; font-weight: 600; display: inline-block; padding: 0.6rem 1.3rem; border-radius: 9px;
  border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); text-decoration: none;
  cursor: pointer; }
.button:hover, button:hover { filter: brightness(1.08); }
button.quiet, .button.quiet { background: transparent; color: var(--accent); }
button:disabled { border-color: var(--line); background: var(--code); color: var(--muted); cursor: default; filter: none; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.45rem 1.4rem; margin: 1.6rem 0 0;
  padding-top: 1.2rem; border-top: 1px solid var(--line); font-size: var(--small); }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font-family: var(--mono); font-size: 0.86em; }
code { overflow-wrap: anywhere; }
pre code { font-size: 1em; }
.preview { margin-top: 1.4rem; }
.preview > figure { margin: 0; }
figcaption { color: var(--muted); font-size: var(--small); margin-top: 0.6rem; }
.preview img, .preview video { display: block; max-width: 100%; max-height: 80vh; margin: 0 auto; border-radius: 8px; }
.picture { padding: 1rem; border: 1px solid var(--line); border-radius: 14px; background: #fff; }
.preview audio { width: 100%; }
.preview iframe { display: block; width: 100%; height: min(80vh, 56rem); border: 1px solid var(--line);
  border-radius: 14px; background: #fff; }
pre { margin: 0; padding: 1rem; background: var(--code); border-radius: 10px; overflow: auto; max-height: 70vh;
  tab-size: 4; }
.scroll { overflow: auto; max-height: 70vh; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); }
table { border-collapse: collapse; font-size: var(--small); font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.4rem 0.8rem; border-bottom: 1px solid var(--line); white-space: nowrap;
  max-width: 24rem; overflow: hidden; text-overflow: ellipsis; }
thead th { position: sticky; top: 0; background: var(--code); font-weight: 600; }
td.number, th.number { text-align: right; }
tbody th { font-weight: 600; }
.prose { overflow-wrap: anywhere; }
.prose > * { max-width: 44rem; }
.prose > :first-child { margin-top: 0; } .prose > :last-child { margin-bottom: 0; }
.prose pre, .prose .scroll { margin: 0 0 1rem; }
.prose blockquote { margin: 0 0 1rem; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--muted); }
.prose h2 { margin: 1.6rem 0 0.6rem; } .prose h3, .prose h4 { margin: 1.4rem 0 0.5rem; }
.cell { display: grid; grid-template-columns: 4rem minmax(0, 1fr); gap: 0.4rem 0.8rem; margin-bottom: 1rem; }
.cell > .mark { color: var(--muted); font: var(--small) var(--mono); text-align: right; padding-top: 0.9rem; }
.cell > * { min-width: 0; }
.cell .prose { padding: 0.4rem 1rem; }
pre.output { background: transparent; padding-top: 0.6rem; }
.drop { border: 2px dashed var(--line); border-radius: 14px; padding: clamp(1.2rem, 5vw, 2.6rem); text-align: center;
  margin: 1.2rem 0; }
.drop.over { border-color: var(--accent); background: var(--code); }
.filter { display: flex; flex-wrap: wrap; gap: 0.8rem; align-items: end; margin: 0.8rem 0 1.2rem; }
.filter label { display: grid; gap: 0.2rem; font-size: var(--small); color: var(--muted); }
input[type="search"], input[type="password"], input[type="text"], select, textarea { font: inherit; color: var(--ink); background: var(--surface); padding: 0.5rem 0.7rem;
  border: 1px solid var(--line); border-radius: 9px; min-width: 9rem; }
.list { max-height: none; } .list table { width: 100%; } .list th, .list td { padding-inline: 0.65rem; }
.state { font-weight: 600; } .state.good { color: var(--accent); } .state.bad { color: var(--danger); }
.state.going { color: var(--warning); }
button.small, .button.small { padding: 0.15rem 0.7rem; font-size: var(--small); border-radius: 7px; }
.row { display: flex; gap: 0.4rem; } .files { padding: 0; list-style: none; }
.files li { display: flex; justify-content: space-between; gap: 1rem; padding: 0.4rem 0; overflow-wrap: anywhere;
  border-bottom: 1px solid var(--line); }
.result { margin-bottom: 1rem; } .result h2 { margin-top: 0; }
h3 { font-size: 1rem; margin: 1.4rem 0 0.5rem; font-weight: 620; }
.tabs { display: flex; flex-wrap: wrap; gap: 0 1.1rem; margin: 0 0 1.6rem; border-bottom: 1px solid var(--line); }
.tabs a { color: var(--muted); text-decoration: none; padding: 0.5rem 0.1rem; white-space: nowrap;
  border-bottom: 3px solid transparent; }
.tabs a:hover { color: var(--ink); }
.tabs a[aria-current] { color: var(--accent); border-color: var(--accent); font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 0.8rem; margin: 1.2rem 0; }
.tile { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; padding: 0.9rem 1.1rem 1rem;
  display: grid; gap: 0.3rem; align-content: start; font-size: var(--small); }
.tile .name { color: var(--muted); }
.tile .figure { font-size: var(--huge); line-height: 1.2; font-weight: 620; font-variant-numeric: tabular-nums; }
.bar { display: block; width: 100%; height: 6px; border-radius: 3px; }
.bar .all { fill: var(--line); } .bar .used { fill: var(--accent); } .bar .used.full { fill: var(--danger); }
.share { display: flex; gap: 0.6rem; align-items: center; min-width: 5.5rem; } .share .bar { flex: 1; }
.share .muted { min-width: 2.6rem; text-align: right; }
.under { display: block; color: var(--muted); font-weight: 400; font-size: 0.78rem; }
td.wrap { white-space: normal; overflow-wrap: anywhere; min-width: 16rem; max-width: none; }
th.do, td.do { position: sticky; right: 0; background: var(--surface); } thead th.do { background: var(--code); }
.scroll + p, .plots + p { margin-top: 0.9rem; }
.head { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; justify-content: space-between; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0.8rem; }
.plot { margin: 0; background: var(--surface); border: 1px solid var(--line); border-radius: 14px;
  padding: 0.9rem 1.1rem; font-variant-numeric: tabular-nums; min-width: 0; }
.plot figcaption { display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0 0 0.7rem; align-items: baseline; }
.plot figcaption strong { color: var(--ink); margin-right: auto; } .plot b { color: var(--ink); font-weight: 600; }
.key::before { content: ""; display: inline-block; width: 1rem; border-top: 2.5px solid var(--accent);
  vertical-align: 0.3em; margin-right: 0.4rem; }
.key1::before { border-top: 2.5px dashed var(--warning); }
.canvas { display: grid; grid-template-columns: 4.4rem minmax(0, 1fr); gap: 0.6rem; height: 8rem; }
.canvas svg { width: 100%; height: 100%; min-height: 0; overflow: visible; }
.scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; margin: -0.65em 0; }
.scale, .times { color: var(--muted); font-size: 0.78rem; line-height: 1.3; }
.times { display: flex; justify-content: space-between; padding: 0.5rem 0 0 5rem; }
.canvas path { vector-effect: non-scaling-stroke; fill: none; }
.canvas .grid { stroke: var(--line); stroke-width: 1; } .canvas .area { fill: var(--accent); opacity: 0.13; }
.canvas .line { stroke-width: 2; stroke-linejoin: round; } .line0 { stroke: var(--accent); }
.line1 { stroke: var(--warning); stroke-dasharray: 5 3; }
h2.verdict { margin-top: 0; } h1 + .card { margin-top: 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 0.8rem; }
.cards .card { padding: 1.1rem 1.3rem; } .cards h2 { margin-top: 0; font-size: 1.05rem; } .cards dl { margin: 0; border: 0; padding: 0; }
.cards dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; } .cards .told dd { text-align: left; }
.cards dl { grid-template-columns: max-content 1fr; gap: 0.45rem 1.4rem; } .cards .told dl { gap: 0.7rem 1.4rem; }
input[type="file"] { font: inherit; max-width: 100%; }
progress { width: 100%; height: 0.7rem; accent-color: var(--accent); }
output { display: block; min-height: 1.6em; margin-top: 0.8rem; }
@media (max-width: 52rem) { .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .brand { flex-wrap: wrap; padding: 1rem 0; } .brand nav { width: 100%; margin: 0.2rem -0.6rem 0; justify-content: flex-start; }
  .brand nav form { margin-left: 0.6rem; } }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0 0; } dd { margin-bottom: 0.7rem; }
  .cell { grid-template-columns: minmax(0, 1fr); } .cell > .mark { text-align: left; padding: 0; }
  .facts { display: block; } .facts > * { display: block; } .facts > * + *::before { content: none; } }
${graphStyle}${crateStyle}${documentStyle}@media (prefers-reduced-motion: no-preference) { .button, button { transition: filter 0.15s; } }
@media print { .actions, .brand { display: none; } .card { border: 0; padding: 0; } }
`;
