import { pathToEntityId, toIsoTimestamp, languageNames, toOrcidUrl } from './entities.ts';
import {
  metadataName,
  type AboutCrate,
  type MissingFile,
  type PackedCrate,
  type PackedFile,
  type PackedRun,
} from './packed.ts';
import { createLicenceEntity } from './run-facts.ts';

/**
 * `ro-crate-preview.html`: one page that says what the crate is, without a script and without anything to fetch. RO-Crate
 * advises against a copy of the metadata in it.
 */
export function renderPreview({ about, specification, run, files }: PackedCrate): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapePreviewHtml(about.title)}</title>
<style>
${previewStyle}
</style>
</head>
<body>
<main>
<header>
<h1>${escapePreviewHtml(about.title)}</h1>
<p>${escapePreviewHtml(about.description)}</p>
</header>
${renderAboutSection(about)}
${run === null ? '' : renderRunSections(run)}
${files.length === 0 ? '' : renderSection('Files', renderFileTable('Files of this crate', files))}
<footer>Packed by Workcrate ${escapePreviewHtml(about.version)} as an RO-Crate ${specification.version}. All of its metadata is in ${renderLink(metadataName, metadataName)}.</footer>
</main>
</body>
</html>
`;
}

function renderSection(heading: string, body: string): string {
  return `<section>\n<h2>${escapePreviewHtml(heading)}</h2>\n${body}\n</section>`;
}

/** A list of terms, each with a link to its definition at schema.org. The values are HTML. */
function renderTerms(rows: readonly (readonly [term: string, label: string, html: string])[]): string {
  const shown = rows.filter(([, , html]) => html !== '');
  const lines = shown.map(
    ([term, label, html]) => `<dt>${renderLink(`https://schema.org/${term}`, label)}</dt><dd>${html}</dd>`,
  );
  return `<dl>\n${lines.join('\n')}\n</dl>`;
}

function renderAboutSection(about: AboutCrate): string {
  const licence = createLicenceEntity(about.license);
  const authors = about.authors.map(({ name, orcid, affiliation }) => {
    const who = orcid === undefined ? escapePreviewHtml(name) : renderLink(toOrcidUrl(orcid), name);
    return affiliation === undefined ? who : `${who} (${escapePreviewHtml(affiliation)})`;
  });
  const licenceName = licence.name;
  return renderSection(
    'About',
    renderTerms([
      ['author', 'Author', authors.join('<br>') || escapePreviewHtml(about.user)],
      ['datePublished', 'Published', renderTime(about.published)],
      ['license', 'Licence', about.license === null ? licenceName : renderLink(licence['@id'], licenceName)],
      ['keywords', 'Keywords', escapePreviewHtml(about.keywords.join(', '))],
    ]),
  );
}

function renderRunSections(run: PackedRun): string {
  const { name, runtime } = languageNames[run.language];
  const state = run.succeeded
    ? escapePreviewHtml(run.outcome)
    : `<span class="failed">failed</span>: ${escapePreviewHtml(run.outcome)}`;
  const details = renderTerms([
    ['identifier', 'Run', escapePreviewHtml(run.id)],
    ['actionStatus', 'Outcome', state],
    ['error', 'Error', run.succeeded ? '' : escapePreviewHtml(run.error ?? '')],
    ['startTime', 'Started', renderTime(run.startedAt)],
    ['endTime', 'Ended', renderTime(run.endedAt)],
    ['programmingLanguage', 'Language', name],
    [
      'softwareRequirements',
      'Ran on',
      escapePreviewHtml(run.runtime === null ? runtime : `${run.runtime.name} ${run.runtime.version}`),
    ],
    [
      'additionalProperty',
      'Limits',
      run.limits
        .map(({ name: what, value, unit }) =>
          escapePreviewHtml(`${what}: ${value}${unit === null ? '' : ` ${unit}`}`),
        )
        .join('<br>'),
    ],
  ]);
  return [
    renderSection('The run', details),
    renderSection('Inputs', renderInputs(run)),
    renderSection(
      'Results',
      run.results.length === 0
        ? '<p>It left no files.</p>'
        : renderFileTable('Files that the run made or changed', run.results),
    ),
    renderSection(
      'Code',
      `<p>${renderLink(pathToEntityId(run.code.path), run.code.path)}, sha256 <code>${run.code.sha256}</code></p>\n<pre tabindex="0" aria-label="Code of the run"><code>${escapePreviewHtml(run.codeText)}</code></pre>`,
    ),
    ...(run.logs.length === 0
      ? []
      : [renderSection('Output', renderFileTable('What the run wrote to its outputs', run.logs))]),
  ].join('\n');
}

function renderInputs({ inputs, missing }: PackedRun): string {
  if (inputs.length + missing.length === 0) return '<p>It was given no files.</p>';
  const held = inputs.length === 0 ? '' : renderFileTable('Files that the run was given', inputs);
  return missing.length === 0 ? held : `${held}${renderMissingTable(missing)}`;
}

function renderFileTable(caption: string, files: readonly PackedFile[]): string {
  return renderTable(
    caption,
    files.map((file) => [
      renderLink(pathToEntityId(file.path), file.knownAs ?? file.path),
      file.mediaType,
      file,
    ]),
  );
}

function renderMissingTable(files: readonly MissingFile[]): string {
  const rows = files.map((file) => [escapePreviewHtml(file.name), '', file] as const);
  return renderTable('Files that the run was given and that are not in this crate', rows);
}

type PreviewTableRow = readonly [
  html: string,
  type: string,
  file: { readonly size: number; readonly sha256: string },
];

function renderTable(caption: string, rows: readonly PreviewTableRow[]): string {
  const lines = rows.map(
    ([html, type, { size, sha256 }]) =>
      `<tr><td>${html}</td><td class="type">${escapePreviewHtml(type)}</td><td class="number" title="${size} bytes">${formatPreviewSize(size)}</td><td><code>${escapePreviewHtml(sha256)}</code></td></tr>`,
  );
  return `<div class="wide"><table>
<caption>${escapePreviewHtml(caption)}</caption>
<thead><tr><th scope="col">File</th><th scope="col">Type</th><th scope="col" class="number">Size</th><th scope="col">sha256</th></tr></thead>
<tbody>
${lines.join('\n')}
</tbody>
</table></div>`;
}

function renderTime(milliseconds: number): string {
  const moment = toIsoTimestamp(milliseconds);
  return `<time datetime="${moment}">${moment.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** Styles for light mode, dark mode and print; nothing is fetched. */
const previewStyle = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #d9dfe6; --paper: #ffffff; --tint: #f4f6f9; --accent: #0b6e5f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ef; --soft: #a3afbd; --line: #35404d; --paper: #151a21; --tint: #1d242d; --accent: #5fcab6; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem; border-bottom: 2px solid var(--accent); }
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
.failed { color: var(--bad); font-weight: 600; }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .6rem; } }
`.trim();

const previewHtmlEntities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Characters that HTML forbids, or that change the direction of text. They are shown as a replacement character. */
const previewForbiddenCharacters =
  // oxlint-disable-next-line no-control-regex -- these are what must not get through
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Noncharacter_Code_Point}]/gu;

/** Escapes text for an element or a quoted attribute. */
export function escapePreviewHtml(text: string): string {
  return text
    .toWellFormed()
    .replace(previewForbiddenCharacters, '\ufffd')
    .replace(/[&<>"']/g, (mark) => previewHtmlEntities[mark]!);
}

/** A link if the address is safe: a web page, or a file next to this one. Otherwise only the text. */
export function renderLink(address: string, text: string): string {
  const isWeb = /^https?:\/\//i.test(address);
  const isBeside = !/^[^/?#]*:/.test(address) && !address.startsWith('/');
  return isWeb || isBeside
    ? `<a href="${escapePreviewHtml(address)}">${escapePreviewHtml(text)}</a>`
    : escapePreviewHtml(text);
}

const previewSizeUnits = ['bytes', 'KB', 'MB', 'GB', 'TB'];

export function formatPreviewSize(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), previewSizeUnits.length - 1);
  return step === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** step).toFixed(1)} ${previewSizeUnits[step]}`;
}
