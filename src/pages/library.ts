/** Files and artifacts: what is stored, until when, and a link for each. */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../html/html.ts';
import { formatBytes } from '../text.ts';
import { renderShortTime } from './frame.ts';
import { toOwnPath, type Routing } from './routing.ts';
import { renderArtifactButton } from './run-files.ts';

export interface ListedFile {
  readonly file_id: string;
  readonly filename: string;
  readonly size: number;
  readonly mediaType: string;
  readonly origin: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface Library {
  readonly files: readonly ListedFile[];
  readonly next: string | null;
  readonly artifacts: readonly string[];
  readonly moreArtifacts: number;
}

function renderLibrary({ files, next, artifacts, moreArtifacts }: Library, token: string): Html {
  return html`<h1>Files</h1>
    ${
      files.length === 0
        ? html`<p class="muted">There are no stored files.</p>`
        : html`<div class="scroll list" tabindex="0" role="region" aria-label="Files">
            <table>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Size</th>
                  <th scope="col">From</th>
                  <th scope="col">Stored (UTC)</th>
                  <th scope="col">Until (UTC)</th>
                  <th scope="col">Do</th>
                </tr>
              </thead>
              <tbody>
                ${files.map((file) => renderFileRow(file, token))}
              </tbody>
            </table>
          </div>`
    }
    ${next === null ? nothing : html`<p><a rel="next" href="?after=${encodeURIComponent(next)}">Older files</a></p>`}
    <h2>Artifacts</h2>
    ${
      artifacts.length === 0
        ? html`<p class="muted">Runs have left nothing in /artifacts.</p>`
        : html`<ul class="files">
            ${artifacts.map((name) => html`<li>${name} ${renderArtifactButton(name, token)}</li>`)}
          </ul>`
    }
    ${moreArtifacts > 0 ? html`<p class="muted">And ${moreArtifacts} more.</p>` : nothing}`;
}

const renderFileRow = (file: ListedFile, token: string): Html =>
  html`<tr>
    <td>${file.filename}</td>
    <td class="number">${formatBytes(file.size)}</td>
    <td>${file.origin}</td>
    <td>${renderShortTime(file.createdAt)}</td>
    <td>${renderShortTime(file.expiresAt)}</td>
    <td class="row">
      ${renderFileButton('share', 'Open', file, token)} ${renderFileButton('delete', 'Delete', file, token)}
    </td>
  </tr>`;

const renderFileButton = (what: 'share' | 'delete', label: string, file: ListedFile, token: string): Html =>
  html`<form method="post" action="/library/${what}">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="file" value="${file.file_id}" />
    <button class="quiet small" aria-label="${label} ${file.filename}">${label}</button>
  </form>`;

const artifactsOnPage = 200;

export function addLibraryRoutes(routes: Hono, { tools, show, change }: Routing): void {
  routes.get(
    '/library',
    show('/library', 'Files', async (visitor, token, { req }) => {
      const { after = '' } = req.query();
      const files = await tools.call(visitor, 'list_files', after === '' ? {} : { after });
      const { artifacts, total } = await tools.call(visitor, 'list_artifacts', { limit: artifactsOnPage });
      return renderLibrary({ ...files, artifacts, moreArtifacts: total - artifacts.length }, token);
    }),
  );
  routes.post(
    '/library/share',
    change('/library', async (visitor, form) =>
      toOwnPath((await tools.call(visitor, 'share_file', { file_id: form.get('file') })).downloadUrl),
    ),
  );
  routes.post(
    '/library/delete',
    change('/library', async (visitor, form) => {
      await tools.call(visitor, 'delete_file', { file_id: form.get('file') });
      return '/library';
    }),
  );
  routes.post(
    '/library/artifact',
    change('/library', async (visitor, form) =>
      toOwnPath((await tools.call(visitor, 'get_artifact', { name: form.get('name') })).downloadUrl),
    ),
  );
}
