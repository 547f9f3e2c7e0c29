import { iso } from './entity.ts';
import { escaped, link, readableSize } from './html.ts';
import { idOfPath } from './ids.ts';
import { licenceEntity } from './licence.ts';
import { metadataName } from './metadata.ts';
import type { About, MissingFile, PackedCrate, PackedFile, PackedRun } from './packed.ts';
import { orcidUrl } from './people.ts';
import { style } from './preview-style.ts';
import { languageNames } from './run-entities.ts';

/**
 * `ro-crate-preview.html`: one page that says what the crate is, without a script and without anything to fetch. RO-Crate
 * 1.3 advises against a copy of the metadata in it.
 */
export function previewOf({ about, run, files }: PackedCrate): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(about.title)}</title>
<style>
${style}
</style>
</head>
<body>
<main>
<header>
<h1>${escaped(about.title)}</h1>
<p>${escaped(about.description)}</p>
</header>
${aboutSection(about)}
${run === null ? '' : runSections(run)}
${files.length === 0 ? '' : section('Files', fileTable('Files of this crate', files))}
<footer>Packed by Workcrate ${escaped(about.version)} as an RO-Crate 1.3. All of its metadata is in ${link(metadataName, metadataName)}.</footer>
</main>
</body>
</html>
`;
}

function section(heading: string, body: string): string {
  return `<section>\n<h2>${escaped(heading)}</h2>\n${body}\n</section>`;
}

/** Each as the term of schema.org that it is, with what that means behind it. The values are HTML. */
function terms(rows: readonly (readonly [term: string, label: string, html: string])[]): string {
  const shown = rows.filter(([, , html]) => html !== '');
  const lines = shown.map(
    ([term, label, html]) => `<dt>${link(`https://schema.org/${term}`, label)}</dt><dd>${html}</dd>`,
  );
  return `<dl>\n${lines.join('\n')}\n</dl>`;
}

function aboutSection(about: About): string {
  const licence = licenceEntity(about.license);
  const authors = about.authors.map(({ name, orcid, affiliation }) => {
    const who = orcid === undefined ? escaped(name) : link(orcidUrl(orcid), name);
    return affiliation === undefined ? who : `${who} (${escaped(affiliation)})`;
  });
  const licenceName = licence.name;
  return section(
    'About',
    terms([
      ['author', 'Author', authors.join('<br>') || escaped(about.user)],
      ['datePublished', 'Published', time(about.published)],
      ['license', 'Licence', about.license === null ? licenceName : link(licence['@id'], licenceName)],
      ['keywords', 'Keywords', escaped(about.keywords.join(', '))],
    ]),
  );
}

function runSections(run: PackedRun): string {
  const { name, runtime } = languageNames[run.language];
  const state = run.succeeded
    ? escaped(run.outcome)
    : `<span class="failed">failed</span>: ${escaped(run.outcome)}`;
  const details = terms([
    ['identifier', 'Run', escaped(run.id)],
    ['actionStatus', 'Outcome', state],
    ['error', 'Error', run.succeeded ? '' : escaped(run.error ?? '')],
    ['startTime', 'Started', time(run.startedAt)],
    ['endTime', 'Ended', time(run.endedAt)],
    ['programmingLanguage', 'Language', name],
    [
      'softwareRequirements',
      'Ran on',
      escaped(run.runtime === null ? runtime : `${run.runtime.name} ${run.runtime.version}`),
    ],
    [
      'additionalProperty',
      'Limits',
      run.limits
        .map(({ name: what, value, unit }) => escaped(`${what}: ${value}${unit === null ? '' : ` ${unit}`}`))
        .join('<br>'),
    ],
  ]);
  return [
    section('The run', details),
    section('Inputs', inputsOf(run)),
    section(
      'Results',
      run.results.length === 0
        ? '<p>It left no files.</p>'
        : fileTable('Files that the run made or changed', run.results),
    ),
    section(
      'Code',
      `<p>${link(idOfPath(run.code.path), run.code.path)}, sha256 <code>${run.code.sha256}</code></p>\n<pre tabindex="0" aria-label="Code of the run"><code>${escaped(run.codeText)}</code></pre>`,
    ),
    ...(run.logs.length === 0
      ? []
      : [section('Output', fileTable('What the run wrote to its outputs', run.logs))]),
  ].join('\n');
}

function inputsOf({ inputs, missing }: PackedRun): string {
  if (inputs.length + missing.length === 0) return '<p>It was given no files.</p>';
  const held = inputs.length === 0 ? '' : fileTable('Files that the run was given', inputs);
  return missing.length === 0 ? held : `${held}${missingTable(missing)}`;
}

function fileTable(caption: string, files: readonly PackedFile[]): string {
  return table(
    caption,
    files.map((file) => [link(idOfPath(file.path), file.knownAs ?? file.path), file.mediaType, file]),
  );
}

function missingTable(files: readonly MissingFile[]): string {
  const rows = files.map((file) => [escaped(file.name), '', file] as const);
  return table('Files that the run was given and that are not in this crate', rows);
}

type TableRow = readonly [
  html: string,
  type: string,
  file: { readonly size: number; readonly sha256: string },
];

function table(caption: string, rows: readonly TableRow[]): string {
  const lines = rows.map(
    ([html, type, { size, sha256 }]) =>
      `<tr><td>${html}</td><td class="type">${escaped(type)}</td><td class="number" title="${size} bytes">${readableSize(size)}</td><td><code>${escaped(sha256)}</code></td></tr>`,
  );
  return `<div class="wide"><table>
<caption>${escaped(caption)}</caption>
<thead><tr><th scope="col">File</th><th scope="col">Type</th><th scope="col" class="number">Size</th><th scope="col">sha256</th></tr></thead>
<tbody>
${lines.join('\n')}
</tbody>
</table></div>`;
}

function time(milliseconds: number): string {
  const moment = iso(milliseconds);
  return `<time datetime="${moment}">${moment.slice(0, 19).replace('T', ' ')} UTC</time>`;
}
