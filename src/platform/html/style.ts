/**
 * The style sheet of every page: one type scale, one scale of space, colours for light and dark, and the components that
 * pages are made of. It stands in each page as it is, so that a page needs nothing else; its hash is in the policy.
 */

import { crateStyle } from './crate-style.ts';
import { documentStyle } from './document-style.ts';
import { fileStyle } from './file-style.ts';
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
    keyword: '#6b3fa0',
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
    keyword: '#c9a6f5',
  },
} as const;

/** Colours as variables of CSS. */
export const listColours = (set: Readonly<Record<string, string>>): string =>
  Object.entries(set)
    .map(([name, value]) => `--${name}: ${value};`)
    .join(' ');

const base = `:root { color-scheme: light dark; ${listColours(colours.light)}
  --small: 0.875rem; --large: 1.1875rem; --huge: 1.75rem; --space: 1rem; --round: 10px;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { ${listColours(colours.dark)} } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink); }
.frame { max-width: 64rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2rem) calc(4 * var(--space)); }
.brand { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 0.6rem; padding: 1.1rem 0;
  margin-bottom: 2rem; border-bottom: 1px solid var(--line); font-weight: 600; }
.brand svg { width: 1.5rem; height: 1.5rem; color: var(--accent); flex: none; }
.brand nav { display: flex; flex-wrap: wrap; align-items: center; justify-content: flex-end; gap: 0.15rem; margin-left: auto; font-weight: 500; font-size: var(--small); }
.brand nav a { color: var(--muted); text-decoration: none; padding: 0.4rem 0.65rem; border-radius: 8px; }
.brand nav a:hover { color: var(--ink); background: var(--code); }
.brand nav a[aria-current] { color: var(--accent); background: var(--code); }
h1 { font-size: var(--huge); line-height: 1.2; letter-spacing: -0.015em; margin: 0 0 0.5rem; font-weight: 650;
  overflow-wrap: anywhere; }
h1 + .scroll, h1 + .runs, h1 + .empty { margin-top: 1.25rem; }
h2 { font-size: var(--large); line-height: 1.3; letter-spacing: -0.005em; margin: 2.5rem 0 0.75rem; font-weight: 620; }
p { margin: 0 0 0.75rem; }
a { color: var(--accent); text-underline-offset: 0.15em; text-decoration-thickness: 1px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 14px;
  padding: clamp(1.25rem, 3vw, 2rem); }
.card > :first-child { margin-top: 0; } .card > :last-child { margin-bottom: 0; }
.narrow { max-width: 32rem; margin: 0 auto; }
.muted { color: var(--muted); }
.empty { color: var(--muted); padding: 2.5rem 1.5rem; text-align: center; border: 1px dashed var(--line);
  border-radius: 14px; }
.path { font-size: var(--small); margin: 0 0 0.5rem; }
.facts { color: var(--muted); font-size: var(--small); margin: 0 0 1.25rem; }
.facts { display: flex; flex-wrap: wrap; align-items: center; gap: 0.15rem 0.6rem; }
.facts > * + *::before { content: "·"; margin-right: 0.6rem; }
.note { border-left: 3px solid var(--warning); padding: 0.15rem 0 0.15rem 0.9rem; margin: 1.25rem 0; }
.failed { border-left-color: var(--danger); }
.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center; margin: 1.25rem 0 0; }
.button, button { font: inherit; font-weight: 600; display: inline-block; padding: 0.5rem 1.1rem; border-radius: 9px; font-size: 0.9375rem;
  border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); text-decoration: none;
  cursor: pointer; }
.button:hover, button:hover { filter: brightness(1.08); }
button.quiet, .button.quiet { background: var(--surface); border-color: var(--line); color: var(--accent); }
button.quiet:hover, .button.quiet:hover { border-color: var(--accent); filter: none; }
button.link { font-size: inherit; padding: 0; border: 0; background: none; color: var(--accent); font-weight: inherit;
  text-decoration: underline; text-underline-offset: 0.15em; }
button:disabled { border-color: var(--line); background: var(--code); color: var(--muted); cursor: default; filter: none; }
button.small, .button.small { padding: 0.15rem 0.7rem; font-size: var(--small); border-radius: 7px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.45rem 1.5rem; margin: 1.5rem 0 0;
  padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: var(--small); }
dl.about { border: 0; padding: 0; margin: 0; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font-family: var(--mono); font-size: 0.86em; }
code { overflow-wrap: anywhere; }
pre code { font-size: 1em; }
`;

/** What files look like: previews of links, tables, notebooks. */
const filePreviewStyle = `.preview { margin-top: 1.4rem; }
.preview > figure { margin: 0; }
figcaption { color: var(--muted); font-size: var(--small); margin-top: 0.6rem; }
.preview img, .preview video { display: block; max-width: 100%; max-height: 80vh; margin: 0 auto; border-radius: 8px; }
.picture { padding: 1rem; border: 1px solid var(--line); border-radius: 14px; background: #fff; }
.preview audio { width: 100%; }
.preview iframe { display: block; width: 100%; height: min(80vh, 56rem); border: 1px solid var(--line);
  border-radius: 14px; background: #fff; }
pre { margin: 0; padding: 1rem 1.1rem; background: var(--code); border-radius: var(--round); overflow: auto;
  max-height: 70vh; tab-size: 4; }
.scroll { overflow: auto; max-height: 70vh; border: 1px solid var(--line); border-radius: var(--round);
  background: var(--surface); }
table { border-collapse: collapse; font-size: var(--small); font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.45rem 0.9rem; border-bottom: 1px solid var(--line); white-space: nowrap;
  max-width: 24rem; overflow: hidden; text-overflow: ellipsis; }
tbody tr:last-child > * { border-bottom: 0; }
thead th, thead td { position: sticky; top: 0; background: var(--code); font-weight: 600; }
td.number, th.number { text-align: right; }
tbody th { font-weight: 600; }
.prose { overflow-wrap: anywhere; }
.prose > * { max-width: 44rem; }
.prose > :first-child { margin-top: 0; } .prose > :last-child { margin-bottom: 0; }
.prose pre, .prose .scroll { margin: 0 0 1rem; }
.prose blockquote { margin: 0 0 1rem; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--muted); }
.prose h2 { margin: 1.6rem 0 0.6rem; } .prose h3, .prose h4 { margin: 1.4rem 0 0.5rem; }
.cell { display: grid; grid-template-columns: 3.25rem minmax(0, 1fr); gap: 0.4rem 0.75rem; margin-bottom: 1.5rem; }
.cell > .mark { color: var(--muted); font: var(--small) var(--mono); text-align: right; padding-top: 0.85rem; }
.cell > .mark a { color: inherit; }
.cell > * { min-width: 0; }
.cell .prose { padding: 0.4rem 1rem; }
pre.output { background: transparent; padding-top: 0.6rem; }
.drop { border: 2px dashed var(--line); border-radius: 14px; padding: clamp(1.2rem, 5vw, 2.6rem); text-align: center;
  margin: 1.2rem 0; }
.drop.over { border-color: var(--accent); background: var(--code); }
`;

/** The views of the page at `/`: lists, filters, states. */
const listStyle = `.filter { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; margin: 1rem 0 1.5rem; }
.filter label { display: grid; gap: 0.25rem; font-size: var(--small); color: var(--muted); }
.filter .wide { flex: 1 1 12rem; }
input[type="search"], input[type="password"], input[type="text"], input[type="date"], select, textarea { font: inherit; color: var(--ink);
  background: var(--surface); padding: 0.45rem 0.7rem; border: 1px solid var(--line); border-radius: 9px;
  min-width: 7rem; max-width: 100%; }
.filter input, .filter select { width: 100%; height: 2.6rem; }
.list { max-height: none; } .list table { width: 100%; } .list th, .list td { padding-inline: 0.65rem; }
.state { font-weight: 600; } .state.good { color: var(--accent); } .state.bad { color: var(--danger); }
.state.going { color: var(--warning); }
.row { display: flex; gap: 0.4rem; } .files { padding: 0; list-style: none; }
.files li { display: flex; justify-content: space-between; gap: 1rem; padding: 0.5rem 0; overflow-wrap: anywhere;
  border-bottom: 1px solid var(--line); }
.result { margin-bottom: 1rem; } .result h2 { margin-top: 0; }
.pager { display: flex; flex-wrap: wrap; gap: 1.25rem; margin: 1.25rem 0; font-size: var(--small); }
.pager a[rel="next"] { margin-left: auto; }
.plain { list-style: none; margin: 0; padding: 0; }
input[type="file"] { font: inherit; max-width: 100%; }
progress { width: 100%; height: 0.7rem; accent-color: var(--accent); }
output { display: block; min-height: 1.6em; margin-top: 0.8rem; }
`;

/** Runs and sessions. */
const runs = `.timeline { margin: 0 0 0.75rem; }
.timeline svg { display: block; width: 100%; }
.timeline a:hover rect { opacity: 0.6; }
.timeline figcaption { display: flex; justify-content: space-between; margin-top: 0.35rem; padding-top: 0.35rem;
  border-top: 1px solid var(--line); font-variant-numeric: tabular-nums; }
.span { fill: var(--accent); } .span.bad { fill: var(--danger); } .span.going { fill: var(--warning); }
.runs { list-style: none; margin: 0; padding: 0; background: var(--surface); border: 1px solid var(--line);
  border-radius: 14px; overflow: hidden; font-size: var(--small); font-variant-numeric: tabular-nums; }
.runs li + li { border-top: 1px solid var(--line); }
.runs li > p { margin: 0; padding: 0 1.1rem 0.7rem; }
.runs a { display: grid; grid-template-columns: 5.5rem minmax(0, 1fr) 4rem 9.5rem 5rem; gap: 0 1rem; align-items: baseline;
  padding: 0.6rem 1.1rem; color: inherit; text-decoration: none; }
.runs a:hover { background: var(--code); }
.runs a:focus-visible { outline-offset: -3px; border-radius: 12px; }
.runs code { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.runs .took { text-align: right; }
.code { max-height: 28rem; }
.hl-comment { color: var(--muted); } .hl-string { color: var(--accent); } .hl-number { color: var(--warning); }
.hl-keyword { color: var(--keyword); } .hl-variable { color: var(--warning); }
.cell .live { margin-top: 0.4rem; }
pre.value { background: var(--surface); border: 1px solid var(--line); }
.live { min-height: 7rem; max-height: 60vh; }
pre.stderr { border-left: 3px solid var(--danger); }
.live .stderr, .legend .stderr { color: var(--danger); } .live .passed { color: var(--muted); }
.legend { font-size: var(--small); margin-top: 0.5rem; }
.more { margin-top: 0.5rem; font-size: var(--small); color: var(--muted); }
figure.outcome { margin: 0 0 1rem; }
figure.outcome figcaption { display: flex; flex-wrap: wrap; gap: 0 1rem; }
figure.outcome img { display: block; max-width: 100%; max-height: 30rem; margin: 0 auto; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
.change.created { color: var(--accent); } .change.deleted { color: var(--danger); } .change.modified { color: var(--warning); }
.calls { margin: 0; padding-left: 2rem; font-size: var(--small); } .calls li { padding: 0.15rem 0; }
.notebook { margin-top: 1.5rem; }
.cell .facts { margin: 0.4rem 0 0; }
.cell figure.outcome { margin: 0.6rem 0; }
.cell pre.output { max-height: 24rem; }
.undone pre { opacity: 0.75; } .undone .mark { text-decoration: line-through; }
.checkpoint { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 0.5rem 1rem;
  margin: 0 0 1.5rem 4rem; padding: 0.5rem 1rem; font-size: var(--small); background: var(--surface);
  border: 1px solid var(--line); border-left: 3px solid var(--accent); border-radius: var(--round); }
.tree { margin: 1.25rem 0 0; padding-left: 1.25rem; font-size: var(--small); }
.named { display: flex; gap: 0; } .named input { min-width: 0; width: 8rem; border-radius: 9px 0 0 9px; border-right: 0; }
.named button { border-radius: 0 9px 9px 0; }
`;

/** What operators see: tiles, tabs, plots. */
const operators = `h3 { font-size: 1rem; margin: 1.4rem 0 0.5rem; font-weight: 620; }
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
`;

const media = `@media (max-width: 52rem) { .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .brand nav { margin-left: -0.6rem; width: calc(100% + 0.6rem); justify-content: flex-start; } .brand nav form { margin-left: 0.6rem; } .brand nav a { padding: 0.35rem 0.6rem; } }
@media (max-width: 44rem) { .brand { margin-bottom: 1.25rem; padding-bottom: 0.6rem; }
  .runs a { grid-template-columns: 4.5rem minmax(0, 1fr) auto; gap: 0.1rem 0.6rem; padding: 0.7rem 0.9rem; }
  .runs a > :nth-child(2) { grid-column: 2 / 4; } .runs a > :nth-child(3) { grid-column: 1; }
  .checkpoint { margin-left: 0; } .filter label { flex: 1 1 8rem; } .filter .wide { flex-basis: 100%; } }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0 0; } dd { margin-bottom: 0.7rem; }
  .cell { grid-template-columns: minmax(0, 1fr); } .cell > .mark { text-align: left; padding: 0; }
  .facts { gap: 0.1rem 0.5rem; } .facts > * + *::before { margin-right: 0.5rem; } }
@media (prefers-reduced-motion: no-preference) { .button, button { transition: filter 0.15s, border-color 0.15s; } }
@media print { .actions, .brand, .filter, .pager { display: none; } .card { border: 0; padding: 0; } }
`;

export const style = [
  base,
  filePreviewStyle,
  listStyle,
  runs,
  operators,
  graphStyle,
  crateStyle,
  documentStyle,
  fileStyle,
  media,
].join('');
