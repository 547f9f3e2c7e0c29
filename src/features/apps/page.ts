/**
 * Puts a view together: one page that needs no other file and no network, so that it works within the strictest policy of
 * hosts. It has the style of all pages, and follows the theme of the host.
 */
import { createBrowserScript } from '../../platform/html/browser-script.ts';
import { colours, listColours, style } from '../../platform/html/style.ts';
import { packageVersion } from '../../platform/version.ts';

export const viewNames = ['crate', 'file-picker', 'run', 'table'] as const;

export type ViewName = (typeof viewNames)[number];

export const viewTitles: Readonly<Record<ViewName, string>> = {
  crate: 'Crates',
  'file-picker': 'Send files',
  run: 'A run',
  table: 'A file',
};

const scripts = new Map(viewNames.map((name) => [name, createBrowserScript(import.meta, `${name}-view`)]));

/**
 * What views have besides: the theme of the host, which may differ from that of the system, and heights that do not
 * depend on the frame, since the frame takes its height from the page.
 */
const viewStyle = `
:root[data-theme="light"] { color-scheme: light; ${listColours(colours.light)} }
:root[data-theme="dark"] { color-scheme: dark; ${listColours(colours.dark)} }
html { font-size: 15px; }
body { background: var(--surface); }
#view { padding: 1rem 1.1rem 1.2rem; }
#view > * { margin: 0; } #view > * + * { margin-top: 1rem; }
#view > p:only-child { margin: 0; }
h1 { font-size: 1.12rem; margin: 0; } h1:focus { outline: none; }
h2 { font-size: 0.8rem; letter-spacing: 0.03em; color: var(--muted); margin: 0 0 0.45rem; }
.view-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.2rem 0.8rem; }
.view-head .meta { font-size: var(--small); overflow-wrap: anywhere; }
.view-head .end { margin-left: auto; align-self: center; }
.view-head .state { display: inline-flex; align-items: center; gap: 0.4rem; font-size: var(--small); }
.dot { width: 0.55rem; height: 0.55rem; border-radius: 50%; background: currentColor; }
.small-text, figcaption { font-size: var(--small); } p.small-text { margin: 0.5rem 0 0; }
pre { max-height: 22rem; white-space: pre-wrap; overflow-wrap: anywhere; padding: 0.75rem 0.9rem; }
pre + pre { margin-top: 0.5rem; }
pre.errors { border-left: 3px solid var(--danger); }
.note { margin: 0.6rem 0; }
details > summary { cursor: pointer; font-size: var(--small); color: var(--muted); font-weight: 600; width: max-content; }
details[open] > summary { margin-bottom: 0.45rem; }
.scroll { max-height: 26rem; width: fit-content; max-width: 100%; min-width: min(100%, 18rem); }
.panel > * + * { margin-top: 0.7rem; } .panel[aria-busy] table { opacity: 0.6; }
.panel img, .picture img { display: block; max-width: 100%; max-height: 24rem; margin: 0 auto; }
.picture { margin: 0; padding: 0.5rem; border-radius: 10px; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); gap: 0.8rem; }
.drawn { margin: 0; } .drawn figcaption { margin-top: 0.3rem; overflow-wrap: anywhere; }
.tools input { width: 100%; max-width: 18rem; padding: 0.3rem 0.65rem; font-size: var(--small); border-radius: 7px; }
table { width: 100%; } th, td { padding: 0.32rem 0.75rem; max-width: 20rem; }
tbody tr:last-child td { border-bottom: 0; } tbody tr:hover td { background: var(--code); }
thead th { padding: 0; } th.number { text-align: right; }
button.sort { all: unset; box-sizing: border-box; cursor: pointer; padding: 0.4rem 0.75rem; width: 100%; font: inherit; font-weight: 600; }
button.sort:hover { color: var(--accent); } button.sort:focus-visible { outline: 3px solid var(--accent); outline-offset: -3px; }
.arrow { display: inline-block; width: 0; text-indent: 0.15em; color: var(--accent); }
.pager { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 0.5rem; font-size: var(--small);
  margin-top: 0.6rem; min-height: 1.9rem; }
.files { margin: 0; border-top: 1px solid var(--line); } .files li { flex-wrap: wrap; align-items: center; gap: 0.3rem 0.8rem; }
.files li:last-child, .results li:last-child { border-bottom: 0; }
.files .row button { border-color: var(--line); font-weight: 500; } .files .row button:hover { border-color: var(--accent); }
.files .name { flex: 1 1 12rem; } .files .panel { margin-bottom: 0.5rem; } .files .panel, .files progress, .files li > p { flex: 1 0 100%; min-width: 0; }
.files li > p { margin: 0.2rem 0 0; }
.tag { font-size: 0.78rem; color: var(--muted); border: 1px solid var(--line); border-radius: 99px; padding: 0 0.5rem; }
.results { list-style: none; padding: 0; border-top: 1px solid var(--line); }
.results li { padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
.results p { margin: 0.15rem 0 0; } .snippet { font-size: var(--small); }
button.title { all: unset; cursor: pointer; font-weight: 620; color: var(--accent); overflow-wrap: anywhere; }
button.title:hover { text-decoration: underline; text-underline-offset: 0.15em; }
button.title:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
mark { background: transparent; color: inherit; font-weight: 650; text-decoration: underline; text-decoration-color: var(--accent);
  text-decoration-thickness: 2px; text-underline-offset: 0.15em; }
.description { max-width: 44rem; } dl { padding-top: 0.8rem; }
.drop { display: grid; gap: 0.7rem; justify-items: center; padding: 1.4rem; }
.drop label { font-weight: 600; } .drop input { font-size: var(--small); color: var(--muted); }
.drop input::file-selector-button { font: inherit; font-weight: 600; color: var(--accent); background: transparent;
  border: 1px solid var(--accent); border-radius: 7px; padding: 0.3rem 0.9rem; margin-right: 0.8rem; cursor: pointer; }
.drop input:disabled::file-selector-button { color: var(--muted); border-color: var(--line); cursor: default; } .actions { margin-top: 0.8rem; }
@media (prefers-reduced-motion: no-preference) { .going .dot { animation: breathe 1.6s ease-in-out infinite; } }
@keyframes breathe { 50% { opacity: 0.3; } }
`;

/** The whole page of a view. */
export function renderView(name: ViewName): string {
  return `<!doctype html>
<html lang="en" data-version="${packageVersion}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${viewTitles[name]} · Workcrate</title>
<style>${style}${viewStyle}</style>
</head>
<body>
<main id="view"><p class="muted" role="status">Waiting for the host …</p></main>
<script>${scripts.get(name)!.text}</script>
</body>
</html>
`;
}
