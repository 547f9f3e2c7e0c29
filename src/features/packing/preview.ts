import { pathToEntityId } from '../crates/metadata/metadata.ts';
import { isPackedFile, toIsoTimestamp, toOrcidUrl } from './entities.ts';
import {
  metadataName,
  shownFolder,
  type AboutCrate,
  type FileOfRun,
  type MissingFile,
  type PackedCrate,
  type PackedFile,
  type PackedRun,
} from './packed.ts';
import { previewStyle } from './preview-style.ts';
import { languageEntities } from './run-entities.ts';
import { createLicenceEntity } from './run-facts.ts';

/**
 * `ro-crate-preview.html`: one page that says what the crate is, without a script, and with nothing to fetch but
 * pictures of the crate beside it. RO-Crate advises against a copy of the metadata in it.
 */
export function renderCratePreview({ about, specification, runs, files }: PackedCrate): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file:">
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
${runs.length < 2 ? '' : renderSection('Steps', renderStepList(runs))}
${renderPackedRuns(runs)}
${files.length === 0 ? '' : renderSection('Files', renderFileTable('Files of this crate', files))}
<footer>Packed by Workcrate ${escapePreviewHtml(about.version)} as an RO-Crate ${specification.version}. All of its metadata is in ${renderLink(metadataName, metadataName)}.</footer>
</main>
</body>
</html>
`;
}

function renderSection(heading: string, body: string, level: 2 | 3 = 2): string {
  return `<section>\n<h${level}>${escapePreviewHtml(heading)}</h${level}>\n${body}\n</section>`;
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
      ['datePublished', 'Published', renderRunTime(about.published)],
      ['license', 'Licence', about.license === null ? licenceName : renderLink(licence['@id'], licenceName)],
      ['keywords', 'Keywords', escapePreviewHtml(about.keywords.join(', '))],
    ]),
  );
}

/** The steps in their order, each a link to its part of the page. */
function renderStepList(runs: readonly PackedRun[]): string {
  const items = runs.map((run) => {
    const name = `${languageEntities[run.language].name}, ${run.id}`;
    return `<li><a href="#${escapePreviewHtml(run.id)}">${escapePreviewHtml(name)}</a>: ${renderOutcome(run)}</li>`;
  });
  return `<ol>\n${items.join('\n')}\n</ol>`;
}

function renderPackedRuns(runs: readonly PackedRun[]): string {
  const pictures = choosePictures(runs);
  if (runs.length < 2) return runs.map((run) => renderRunParts(run, pictures, 2)).join('');
  return runs
    .map((run) => {
      const heading = `${run.title}: ${languageEntities[run.language].name}`;
      const parts = renderRunParts(run, pictures, 3);
      return `<article id="${escapePreviewHtml(run.id)}">\n<h2>${escapePreviewHtml(heading)}</h2>\n${parts}\n</article>`;
    })
    .join('\n');
}

const renderOutcome = ({ succeeded, outcome }: PackedRun): string =>
  succeeded
    ? escapePreviewHtml(outcome)
    : `<span class="failed">failed</span>: ${escapePreviewHtml(outcome)}`;

const describeSoftware = ({ name, version }: { name: string; version: string }): string =>
  `${name} ${version}`;

function renderRunParts(run: PackedRun, pictures: ReadonlySet<FileOfRun>, level: 2 | 3): string {
  const { name, runtime } = languageEntities[run.language];
  const details = renderTerms([
    ['identifier', 'Run', escapePreviewHtml(run.id)],
    ['identifier', 'Session', escapePreviewHtml(run.session ?? '')],
    ['identifier', 'Script', escapePreviewHtml(run.script ?? '')],
    ['actionStatus', 'Outcome', renderOutcome(run)],
    ['error', 'Error', run.succeeded ? '' : escapePreviewHtml(run.error ?? '')],
    ['startTime', 'Started', renderRunTime(run.startedAt)],
    ['endTime', 'Ended', run.endedAt === null ? 'not known' : renderRunTime(run.endedAt)],
    ['programmingLanguage', 'Language', name],
    [
      'softwareRequirements',
      'Ran on',
      escapePreviewHtml(run.runtime === null ? runtime : describeSoftware(run.runtime)),
    ],
    ['softwareRequirements', 'Libraries', escapePreviewHtml(run.libraries.map(describeSoftware).join(', '))],
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
    level === 2 ? renderSection('The run', details) : details,
    renderSection('Inputs', renderInputs(run), level),
    renderSection('Results', renderPackedResults(run, pictures), level),
    renderSection('Code', renderPackedCode(run), level),
    ...(run.logs.length === 0
      ? []
      : [renderSection('Output', renderFileTable('What it wrote to its outputs', run.logs), level)]),
  ].join('\n');
}

function renderPackedCode({ code, codeText }: PackedRun): string {
  const link = renderLink(pathToEntityId(code.path), code.path);
  return `<p>${link}, sha256 <code>${code.sha256}</code></p>\n<pre tabindex="0" aria-label="Code of the run"><code>${escapePreviewHtml(codeText)}</code></pre>`;
}

const incompleteInputsText =
  '<p>It may have read more files than these (<code>inputs_may_be_incomplete</code>).</p>';

function renderInputs({ inputs, inputsMayBeIncomplete }: PackedRun): string {
  const listed =
    inputs.length === 0
      ? '<p>It was given no files.</p>'
      : renderFileTables('Files that it was given, or found', inputs);
  return inputsMayBeIncomplete ? `${listed}${incompleteInputsText}` : listed;
}

function renderUnknownResults({ moreResults, resultsMayBeIncomplete }: PackedRun): string[] {
  if (moreResults > 0)
    return [
      `<p>It made or changed ${moreResults} more files, which nobody hashed: they are not in this crate.</p>`,
    ];
  return resultsMayBeIncomplete
    ? ['<p>It may have made or changed more files: not all could be compared when it ended.</p>']
    : [];
}

function renderPackedResults(run: PackedRun, pictures: ReadonlySet<FileOfRun>): string {
  const { results, shownTexts } = run;
  const unknown = renderUnknownResults(run);
  const texts = shownTexts.map(
    (text) =>
      `<pre tabindex="0" aria-label="A value that it showed"><samp>${escapePreviewHtml(text)}</samp></pre>`,
  );
  if (results.length === 0)
    return [...texts, ...(unknown.length === 0 ? ['<p>It left no files.</p>'] : unknown)].join('\n');
  const shown = results.filter((file) => pictures.has(file)).map(renderPackedPicture);
  return [...texts, ...shown, renderFileTables('Files that it made or changed', results), ...unknown].join(
    '\n',
  );
}

const previewPictureTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml']);
/** A page with more, or larger ones, would take a browser long. The others are in the tables, as links. */
const maxPreviewPictures = 50;
const maxPreviewPictureBytes = 10_000_000;

function choosePictures(runs: readonly PackedRun[]): Set<FileOfRun> {
  const pictures = runs
    .flatMap(({ results }) => results)
    .filter(
      (file) =>
        isPackedFile(file) && previewPictureTypes.has(file.mediaType) && file.size <= maxPreviewPictureBytes,
    );
  return new Set([...new Set(pictures)].slice(0, maxPreviewPictures));
}

/** From the file in the crate, beside the page. A picture in an `img` runs no script and fetches nothing. */
function renderPackedPicture(file: FileOfRun): string {
  const address = escapePreviewHtml(`./${pathToEntityId(file.path)}`);
  const name = toFileLabel(file);
  const picture = `<img src="${address}" alt="${escapePreviewHtml(name)}" loading="lazy">`;
  return `<figure><a href="${address}">${picture}</a><figcaption>${escapePreviewHtml(name)}</figcaption></figure>`;
}

/** What the code calls it; a figure has no path there. */
const toFileLabel = ({ knownAs: [name], path }: FileOfRun): string => (name ?? path).replace(shownFolder, '');

function renderFileTables(caption: string, files: readonly FileOfRun[]): string {
  const held = files.filter(isPackedFile);
  const missing = files.filter((file) => !isPackedFile(file)) as MissingFile[];
  return [
    ...(held.length === 0 ? [] : [renderFileTable(caption, held)]),
    ...(missing.length === 0
      ? []
      : [renderMissingTable(`${caption}, and that are not in this crate`, missing)]),
  ].join('');
}

function renderFileTable(caption: string, files: readonly PackedFile[]): string {
  return renderFactTable(
    caption,
    'Type',
    files.map((file) => ({
      html: renderLink(pathToEntityId(file.path), toFileLabel(file)),
      about: `<td class="type">${escapePreviewHtml(file.mediaType)}</td>`,
      file,
    })),
  );
}

/** Each with the reason, so that nobody takes what is missing for what never was. */
function renderMissingTable(caption: string, files: readonly MissingFile[]): string {
  return renderFactTable(
    caption,
    'Why',
    files.map((file) => ({
      html: escapePreviewHtml(toFileLabel(file)),
      about: `<td>${escapePreviewHtml(file.missing)}</td>`,
      file,
    })),
  );
}

interface PreviewTableRow {
  readonly html: string;
  /** The second cell. */
  readonly about: string;
  readonly file: Pick<FileOfRun, 'size' | 'sha256'>;
}

function renderFactTable(caption: string, second: string, rows: readonly PreviewTableRow[]): string {
  const lines = rows.map(
    ({ html, about, file: { size, sha256 } }) =>
      `<tr><td>${html}</td>${about}${renderSize(size)}<td><code>${escapePreviewHtml(sha256 ?? 'not hashed')}</code></td></tr>`,
  );
  return `<div class="wide"><table>
<caption>${escapePreviewHtml(caption)}</caption>
<thead><tr><th scope="col">File</th><th scope="col">${second}</th><th scope="col" class="number">Size</th><th scope="col">sha256</th></tr></thead>
<tbody>
${lines.join('\n')}
</tbody>
</table></div>`;
}

const renderSize = (size: number | null): string =>
  size === null
    ? '<td class="number">not known</td>'
    : `<td class="number" title="${size} bytes">${formatPreviewSize(size)}</td>`;

function renderRunTime(milliseconds: number): string {
  const moment = toIsoTimestamp(milliseconds);
  return `<time datetime="${moment}">${moment.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

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
