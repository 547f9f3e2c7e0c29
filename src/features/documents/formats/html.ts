import type { DocumentLayout, DocumentPicture } from '../document.ts';
import { detectPictureKind } from '../pictures.ts';
import {
  listContentsEntries,
  escapeXmlText,
  isHeading,
  noAttributes,
  toTreeText,
  parseTrustedAst,
  getLayoutWords,
  type PandocAst,
  type PandocBlock,
  type ContentsEntry,
  type PandocInline,
} from './tree.ts';
import { summarizePandocWarnings, type FormatResult, type FormatJob } from './work.ts';

/** A title for formats that need one. */
export function findDocumentTitle({ title }: DocumentLayout, { blocks }: Pick<PandocAst, 'blocks'>): string {
  if (title !== null && title.trim() !== '') return title;
  const heading = blocks.find(isHeading);
  return (heading && toTreeText(heading.c[2]).trim()) || 'Document';
}

/** One file, with everything in it. */
export async function writeHtml({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { layout, ast, pictures } = prepared;
  const options = {
    from: 'json',
    to: 'html5',
    standalone: true,
    template: 'page.html',
    'html-math-method': { method: 'mathml' },
    'table-of-contents': layout.toc,
    'number-sections': layout.numberSections,
    variables: {
      pagetitle: escapeHtmlMarkup(findDocumentTitle(layout, parseTrustedAst(ast))),
      ...buildHtmlVariables(layout),
    },
  };
  const files = { 'page.html': htmlTemplate };
  const { output, warnings } = await engines.pandoc.convert({ options, input: ast, files }, signal);
  return { bytes: embedPictures(output, pictures), warnings: summarizePandocWarnings(warnings) };
}

function buildHtmlVariables(layout: DocumentLayout): Record<string, string> {
  const words = getLayoutWords(layout.language);
  return {
    paper: layout.paper === 'a4' ? 'A4' : 'letter',
    'margin-mm': layout.marginMm.toFixed(1),
    'font-size-pt': layout.fontSizePt.toFixed(1),
    'figure-word': words.figure,
    'table-word': words.table,
    'contents-word': words.contents,
    ...(rightToLeftLanguages.test(layout.language) ? { dir: 'rtl' } : {}),
  };
}

const rightToLeftLanguages = /^(?:ar|fa|he|ps|sd|ug|ur|yi)(?:-|$)/i;

/** Pandoc does not escape variables. */
function escapeHtmlMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Done here and not by Pandoc, because base64 is cheap here. Its writer escapes `<` in text and attributes. */
function embedPictures(html: Uint8Array, pictures: readonly DocumentPicture[]): Uint8Array {
  const uris = new Map(pictures.map((picture) => [picture.name, toPictureDataUri(picture)]));
  const page = Buffer.from(html).toString('utf8');
  return Buffer.from(
    page.replace(/<img\b[^>]*>/g, (tag) =>
      tag.replace(/ src="([^"]*)"/, (_, name: string) => ` src="${uris.get(name) ?? ''}"`),
    ),
  );
}

function toPictureDataUri({ bytes }: DocumentPicture): string {
  const { mediaType } = detectPictureKind(bytes) ?? { mediaType: 'application/octet-stream' };
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
}

/** Rules that a web page and a book share. */
export const sharedHtmlStyle = `
figure { margin: 1.6em 0; text-align: center; }
figure img, p img { max-width: 100%; height: auto; }
figcaption, caption { font-size: 0.9em; padding: 0.5em 0; }
table { border-collapse: collapse; margin: 1.4em auto; }
caption { caption-side: top; }
th, td { padding: 0.3em 0.8em; vertical-align: top; text-align: left; }
thead th { border-bottom: 1px solid; }
table { border-top: 1.5px solid; border-bottom: 1.5px solid; }
pre { padding: 0.8em 1em; overflow-x: auto; font-size: 0.85em; line-height: 1.45; }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
blockquote { margin: 1.2em 0; padding-left: 1.1em; border-left: 3px solid; }
dt { font-weight: 600; }
dd { margin: 0 0 0.6em 1.6em; }
.line-block { margin: 1em 0; }
sup, sub { line-height: 0; }
.smallcaps { font-variant: small-caps; }
.underline { text-decoration: underline; }
ul.task-list { list-style: none; padding-left: 0.4em; }
.csl-entry { margin: 0 0 0.5em; }
.hanging-indent > .csl-entry { padding-left: 2em; text-indent: -2em; }
.csl-left-margin { float: left; min-width: 2.2em; }
.csl-right-inline { margin-left: 2.6em; }
.header-section-number { padding-right: 0.5em; }
.page-break { break-after: page; }
`;

/** The web page: read on a screen by day and by night, and printed. */
const htmlPageStyle = `
:root {
  color-scheme: light dark;
  --ground: #fdfdfc; --ink: #1d1f21; --soft: #5c6166; --line: #d5d8db; --accent: #1a5fa8; --code: #f3f4f5;
  --keyword: #8a2f7c; --string: #2b6b2f; --number: #a34700; --comment: #666f78; --name: #1d5b99; --alert: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181a; --ink: #dfe1e3; --soft: #9aa1a8; --line: #3a3f44; --accent: #82b5ee; --code: #202326;
    --keyword: #d69ad0; --string: #9ecf94; --number: #e9a86c; --comment: #8b949d; --name: #8fbcf0; --alert: #f2938c;
  }
}
* { box-sizing: border-box; }
html { background: var(--ground); color: var(--ink); text-size-adjust: 100%; }
body {
  max-width: 42rem; margin: 0 auto; padding: 3rem 1.25rem 5rem; overflow-wrap: break-word;
  font: 1.06rem/1.62 Charter, "Bitstream Charter", "Source Serif 4", Cambria, Georgia, "Liberation Serif", serif;
}
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 2em 0 0.6em; break-after: avoid; }
h1 { font-size: 1.55em; } h2 { font-size: 1.28em; } h3 { font-size: 1.1em; } h4, h5, h6 { font-size: 1em; }
h4, h5, h6 { font-style: italic; }
a { color: var(--accent); text-underline-offset: 0.15em; text-decoration-thickness: 0.06em; }
.title-block { margin-bottom: 2.5rem; text-align: center; }
.title-block h1 { font-size: 2em; margin: 0 0 0.4em; text-wrap: balance; }
.title-block p { margin: 0.15em 0; }
.subtitle { font-size: 1.2em; color: var(--soft); }
.date { color: var(--soft); }
.abstract { margin: 2em 2.2em 0; font-size: 0.94em; text-align: left; }
.abstract-title { font-weight: 600; text-align: center; }
nav { margin: 2rem 0; padding: 1rem 1.4rem; border: 1px solid var(--line); border-radius: 0.4rem; font-size: 0.95em; }
nav h2 { margin: 0 0 0.4em; font-size: 1.05em; }
nav ul { list-style: none; margin: 0; padding-left: 1.2em; }
nav > ul { padding-left: 0; }
nav a { text-decoration: none; color: inherit; }
nav a:hover { color: var(--accent); }
.toc-section-number { color: var(--soft); padding-right: 0.4em; }
figcaption, caption { color: var(--soft); }
table, thead th { border-color: var(--ink); }
table { display: table; font-size: 0.95em; font-variant-numeric: tabular-nums; }
tbody tr + tr > td { border-top: 1px solid var(--line); }
pre, :not(pre) > code { background: var(--code); border-radius: 0.3rem; }
:not(pre) > code { padding: 0.1em 0.3em; font-size: 0.88em; }
blockquote { border-color: var(--line); color: var(--soft); }
hr { border: 0; border-top: 1px solid var(--line); margin: 2.4em auto; width: 40%; }
math[display="block"] { margin: 1.2em 0; overflow-x: auto; overflow-y: hidden; max-width: 100%; }
input[type="checkbox"] { pointer-events: none; margin-right: 0.5em; }
.footnotes { margin-top: 4rem; font-size: 0.9em; }
.footnotes hr { margin: 0 0 1.2em; width: 8em; }
.footnote-ref { text-decoration: none; }
.footnote-back { text-decoration: none; padding-left: 0.3em; }
.sourceCode a { color: inherit; text-decoration: none; }
.kw, .cf, .im, .ot { color: var(--keyword); } .st, .ch, .vs, .ss, .sc { color: var(--string); }
.dv, .bn, .fl, .cn { color: var(--number); } .co, .do, .an, .cv, .in { color: var(--comment); font-style: italic; }
.fu, .bu, .dt, .at, .va, .ex { color: var(--name); } .al, .er, .wa { color: var(--alert); font-weight: 600; }
@media (prefers-color-scheme: dark) { img { background: #fff; } }
@media (max-width: 44rem) { table { display: block; overflow-x: auto; } .abstract { margin: 2em 0 0; } }
@media print {
  :root {
    --ground: #fff; --ink: #000; --soft: #444; --line: #bbb; --accent: #14457a; --code: #f4f4f4;
    --keyword: #8a2f7c; --string: #2b6b2f; --number: #a34700; --comment: #5b6269; --name: #1d5b99; --alert: #b3261e;
  }
  body { max-width: none; padding: 0; }
  figure, pre, tr, blockquote { break-inside: avoid; }
  pre { white-space: pre-wrap; }
  thead { display: table-header-group; }
  p, li { orphans: 3; widows: 3; }
}
`;

/** Nothing is fetched and nothing runs, whatever is in the page. */
const htmlContentSecurityPolicy =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Pandoc's template of the web page. Text in place of `$…$` is sanitized, and the writer escapes it. */
const htmlTemplate = `<!DOCTYPE html>
<html lang="$lang$"$if(dir)$ dir="$dir$"$endif$>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${htmlContentSecurityPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
$for(author-meta)$<meta name="author" content="$author-meta$">
$endfor$$if(date-meta)$<meta name="dcterms.date" content="$date-meta$">
$endif$<title>$pagetitle$</title>
<style>${sharedHtmlStyle}${htmlPageStyle}
body { counter-reset: figure table; }
figcaption { counter-increment: figure; }
figcaption::before { content: "$figure-word$ " counter(figure) ": "; }
caption { counter-increment: table; }
caption::before { content: "$table-word$ " counter(table) ": "; }
@page { size: $paper$; margin: $margin-mm$mm; }
@media print { body { font-size: $font-size-pt$pt; } }
</style>
</head>
<body>
$if(title)$
<header class="title-block">
<h1>$title$</h1>
$if(subtitle)$<p class="subtitle">$subtitle$</p>
$endif$$for(author)$<p class="author">$author$</p>
$endfor$$if(date)$<p class="date">$date$</p>
$endif$$if(abstract)$<div class="abstract">
<p class="abstract-title">$if(abstract-title)$$abstract-title$$else$Abstract$endif$</p>
$abstract$
</div>
$endif$</header>
$endif$
$if(toc)$
<nav aria-label="$contents-word$">
<h2>$contents-word$</h2>
$table-of-contents$
</nav>
$endif$
<main>
$body$
</main>
</body>
</html>
`;

/*
 * Pandoc leaves the table of contents of DOCX and ODT empty: it writes only a field, which Word fills when it opens the
 * file, and other programs when the user asks. Ours has the same field, and is already filled.
 */

interface TocOptions {
  readonly language: string;
  readonly numbered: boolean;
}

export function buildDocxContents(blocks: readonly PandocBlock[], options: TocOptions): PandocBlock[] {
  const entries = listContentsEntries(blocks, options.numbered);
  if (entries.length === 0) return [...blocks];
  const title = toStyledParagraph('TOC Heading', [
    { t: 'Str', c: getLayoutWords(options.language).contents },
  ]);
  const lines = entries.map((entry, at) => {
    const begin = at === 0 ? [toOpenxmlInline(docxFieldBegin)] : [];
    const end = at === entries.length - 1 ? [toOpenxmlInline(docxFieldEnd)] : [];
    return toStyledParagraph(`toc ${entry.level}`, [...begin, toContentsLink(entry), ...end]);
  });
  return [title, ...lines, ...blocks];
}

const docxFieldBegin =
  '<w:r><w:fldChar w:fldCharType="begin" w:dirty="true"/></w:r><w:r><w:instrText xml:space="preserve"> TOC \\o "1-3" \\h \\z \\u </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>';
const docxFieldEnd = '<w:r><w:fldChar w:fldCharType="end"/></w:r>';

function toOpenxmlInline(text: string): PandocInline {
  return { t: 'RawInline', c: ['openxml', text] };
}

function toStyledParagraph(style: string, inlines: PandocInline[]): PandocBlock {
  return { t: 'Div', c: [['', [], [['custom-style', style]]], [{ t: 'Para', c: inlines }]] };
}

function toContentsLink({ id, number, inlines }: ContentsEntry): PandocInline {
  const start: PandocInline[] = number === null ? [] : [{ t: 'Str', c: number }, { t: 'Space' }];
  return { t: 'Link', c: [noAttributes, [...start, ...inlines], [`#${id}`, '']] };
}

export function buildOdtContents(blocks: readonly PandocBlock[], options: TocOptions): PandocBlock[] {
  const entries = listContentsEntries(blocks, options.numbered);
  if (entries.length === 0) return [...blocks];
  const title = escapeXmlText(getLayoutWords(options.language).contents);
  const text = [
    '<text:table-of-content text:name="Contents"><text:table-of-content-source text:outline-level="3">',
    `<text:index-title-template text:style-name="Contents_20_Heading">${title}</text:index-title-template>`,
    ...[1, 2, 3].map(buildOdtEntryTemplate),
    '</text:table-of-content-source><text:index-body>',
    `<text:index-title text:name="Contents_Head"><text:p text:style-name="Contents_20_Heading">${title}</text:p></text:index-title>`,
    ...entries.map(toOdtContentsLine),
    '</text:index-body></text:table-of-content>',
  ];
  return [{ t: 'RawBlock', c: ['opendocument', text.join('')] }, ...blocks];
}

function buildOdtEntryTemplate(level: number): string {
  return `<text:table-of-content-entry-template text:outline-level="${level}" text:style-name="Contents_20_${level}"><text:index-entry-link-start/><text:index-entry-text/><text:index-entry-link-end/><text:index-entry-tab-stop style:type="right" style:leader-char="."/><text:index-entry-page-number/></text:table-of-content-entry-template>`;
}

function toOdtContentsLine({ level, id, number, text }: ContentsEntry): string {
  const words = number === null ? text : `${number} ${text}`;
  return `<text:p text:style-name="Contents_20_${level}"><text:a xlink:type="simple" xlink:href="#${escapeXmlText(id)}">${escapeXmlText(words)}</text:a></text:p>`;
}
