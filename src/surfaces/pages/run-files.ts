/** The files of a run, before and after: what it was given and read, what it made, changed and removed, and its pictures. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { formatBytes } from '../../platform/text/text.ts';
import {
  describeUnknownInputs,
  describeUnnamedChanges,
  isPictureName,
  toArtifactName,
} from '../../core/runs/describe-run.ts';
import { renderList } from './frame.ts';
import type { ShownRun } from '../../core/runs/schema.ts';

const mostNames = 200;
const mostPictures = 8;

export function renderFilesBefore({
  inputs,
  known_inputs: known,
  input_notes: notes,
  ...run
}: ShownRun): Html {
  const isUnsure = run.inputs_may_be_incomplete && run.end_reason !== 'running';
  if (inputs.length + known.length === 0) return html`${nothing}`;
  return html`<h2>Files before</h2>
    ${renderList(
      'Files before',
      ['Name', 'How it came', 'Size', 'SHA-256'],
      [
        ...inputs.map((input) => [
          input.name,
          describeOrigin(input),
          formatBytes(input.size),
          renderHash(input.sha256),
        ]),
        ...known.map(({ path, size, sha256, how, made_by }) => [
          path,
          made_by === null ? how : html`${how}, made by <a href="/runs/${made_by}">an earlier run</a>`,
          formatBytes(size),
          renderHash(sha256),
        ]),
      ].map(renderFileRow),
    )}
    ${describeUnknownInputs(isUnsure, notes).map(renderNote)}`;
}

function describeOrigin({ origin, file_id }: ShownRun['inputs'][number]): Html {
  if (origin?.['crate_id'] !== undefined)
    return html`given, of <a href="/crates/${origin['crate_id']}">a crate</a>: ${origin['path']}`;
  if (origin?.['client_path'] !== undefined) return html`given, of the client: ${origin['client_path']}`;
  return file_id === null ? html`given` : html`given, a stored file`;
}

const renderNote = (note: string): Html => html`<p class="muted">${note}</p>`;

const renderHash = (sha256: string | null): Html =>
  sha256 === null ? html`not hashed` : html`<code title="${sha256}">${sha256.slice(0, 12)}…</code>`;

type MadeFile = NonNullable<ShownRun['result_files']>['files'][number];

export function renderFilesAfter(run: ShownRun, token: string): Html {
  const { execution_id, artifacts, working_dir, result_files } = run;
  const { created, modified, deleted, complete } = artifacts;
  const changes = [
    ...created.map((name) => [name, 'created'] as const),
    ...modified.map((name) => [name, 'modified'] as const),
    ...deleted.map((name) => [name, 'deleted'] as const),
  ];
  if (changes.length === 0 && complete) return html`${nothing}`;
  const made = new Map(result_files?.files.map((file) => [file.path, file]));
  const pictures = [...made.values()].flatMap(({ path, sha256 }) => {
    const name = sha256 === null ? null : toArtifactName(path);
    return name !== null && isPictureName(name) ? [name] : [];
  });
  return html`<h2>Files after</h2>
    ${
      pictures.length === 0
        ? nothing
        : html`<div class="gallery">
            ${pictures.slice(0, mostPictures).map((name) => renderPicture(execution_id, name))}
          </div>`
    }
    ${
      changes.length === 0
        ? nothing
        : renderList(
            'Files after',
            ['Name', 'What happened', 'SHA-256', 'As the run left it', 'As it is now'],
            changes.slice(0, mostNames).map(([path, what]) => {
              const name = what === 'deleted' ? null : toArtifactName(path);
              const inside = path.startsWith('/') ? path : `${working_dir.replace(/\/+$/, '')}/${path}`;
              const file = made.get(inside) ?? null;
              return renderFileRow([
                path,
                html`<span class="change ${what}">${what}</span>`,
                what === 'deleted' ? '' : renderHash(file?.sha256 ?? null),
                what === 'deleted' ? '' : renderLeft(execution_id, file),
                name === null ? '' : renderArtifactButton(name, token),
              ]);
            }),
          )
    }
    ${changes.length > mostNames ? html`<p class="muted">And ${changes.length - mostNames} more.</p>` : nothing}
    ${describeUnnamedChanges(artifacts).map(renderNote)}`;
}

/** What it left in /tmp and in its home. */
export function renderTemporaryFiles({ temporary_files: left, session_id }: ShownRun): Html {
  if (left === null || (left.files.length === 0 && left.complete)) return html`${nothing}`;
  const more = left.more > 0 ? `And ${left.more} more. ` : '';
  const unseen = left.complete ? '' : 'There may be more: not all could be looked at. ';
  return html`<h2>Not kept</h2>
    ${renderList(
      'Not kept',
      ['Name', 'Size'],
      left.files.map(({ path, size }) => renderFileRow([path, formatBytes(size)])),
    )}
    <p class="muted">
      ${more}${unseen}Files in /tmp and ~ are gone with the ${session_id === null ? 'run' : 'session'}; what
      is to stay has to be written to /artifacts.
    </p>`;
}

/** Its bytes, or why there are none. The tool lists the first of them alone. */
function renderLeft(id: string, file: MadeFile | null): Html {
  if (file === null) return html`<span class="muted">not known</span>`;
  const { path, note } = file;
  if (note !== null) return html`<span class="muted">${note}</span>`;
  return html`<a href="/runs/${id}/made?path=${encodeURIComponent(path)}" download>Download</a>`;
}

/** As the run left it: the address gives no other bytes. */
const renderPicture = (id: string, name: string): Html =>
  html`<figure class="outcome">
    <div class="picture">
      <img loading="lazy" src="/runs/${id}/pictures/${encodeURIComponent(name)}" alt="${name}" />
    </div>
    <figcaption>${name}</figcaption>
  </figure>`;

const renderFileRow = (cells: readonly (Html | string)[]): Html =>
  html`<tr>
    ${cells.map((cell) => html`<td>${cell}</td>`)}
  </tr>`;

/** Makes a link and shows its page. */
export const renderArtifactButton = (name: string, token: string): Html =>
  html`<form method="post" action="/library/artifact">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="name" value="${name}" />
    <button class="quiet small" aria-label="Open ${name}">Open</button>
  </form>`;
