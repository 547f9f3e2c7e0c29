/** The list of stored files, newest first and one page at a time however many there are, and the form to send more. */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { renderUploadForm, uploadScript } from '../../core/links/upload-form.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { addArtifactPages } from './artifacts.ts';
import { addFileRoutes, type ListedFile } from './file.ts';
import { renderAction, renderShortTime } from './frame.ts';
import { renderTabs } from './library-tabs.ts';
import type { LibraryRooms } from './library-rooms.ts';
import { addLinkRoutes } from './links.ts';
import { toOwnPath, type Routing } from './routing.ts';

interface FileList {
  readonly files: readonly ListedFile[];
  readonly next: string | null;
  readonly text: string;
  readonly isFirst: boolean;
}

const renderLibrary = (list: FileList, token: string): Html =>
  html`${renderTabs('/library')}
    <h1>Files</h1>
    <section aria-label="Send files">
      ${renderUploadForm({ maxFiles: maxFilesAtOnce, ask: { path: '/library/upload', token } })}
      <noscript>${renderAction('/library/upload', 'Send files', token)}</noscript>
    </section>
    <form class="filter" method="get" action="/library" role="search">
      <label>In the name <input type="search" name="text" value="${list.text}" maxlength="200" /></label>
      <button class="quiet">Filter</button>
    </form>
    ${list.files.length === 0 ? renderNone(list) : renderTable(list.files)} ${renderPaging(list)}`;

function renderNone({ text, next }: FileList): Html {
  if (text === '') return html`<p class="muted">There are no stored files.</p>`;
  if (next !== null) return html`<p>None of the newest files has “${text}” in its name.</p>`;
  return html`<p>No file has “${text}” in its name. <a href="/library">Show all</a></p>`;
}

const renderTable = (files: readonly ListedFile[]): Html =>
  html`<div class="scroll list" tabindex="0" role="region" aria-label="Files">
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Size</th>
          <th scope="col">From</th>
          <th scope="col">Stored (UTC)</th>
          <th scope="col">Until (UTC)</th>
        </tr>
      </thead>
      <tbody>
        ${files.map(
          (file) =>
            html`<tr>
              <td><a href="/library/${file.file_id}">${file.filename}</a></td>
              <td class="number">${formatBytes(file.size)}</td>
              <td>${file.origin}</td>
              <td>${renderShortTime(file.createdAt)}</td>
              <td>${renderShortTime(file.expiresAt)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

function renderPaging({ next, text, isFirst }: FileList): Html {
  const filter = text === '' ? {} : { text };
  const older = next === null ? null : new URLSearchParams({ ...filter, after: next });
  const newest = new URLSearchParams(filter).toString();
  if (isFirst && older === null) return html`${nothing}`;
  return html`<nav class="pager" aria-label="Pages">
    ${isFirst ? nothing : html`<a href="/library${newest === '' ? '' : `?${newest}`}">Newest files</a>`}
    ${older === null ? nothing : html`<a rel="next" href="?${older.toString()}">Older files</a>`}
  </nav>`;
}

/** As many files as a person may send at once. */
const maxFilesAtOnce = 100;

export function addLibraryRoutes(routes: Hono, routing: Routing, rooms: LibraryRooms): void {
  const { tools, show, change } = routing;
  routes.get(
    '/library',
    show(
      '/library',
      'Files',
      async (visitor, token, { req }) => {
        const { after = '', text = '' } = req.query();
        const wanted = { ...(after !== '' && { after }), ...(text !== '' && { text }) };
        const { files, next } = await tools.call(visitor, 'list_files', wanted);
        return renderLibrary({ files, next, text, isFirst: after === '' }, token);
      },
      uploadScript,
    ),
  );
  routes.post(
    '/library/upload',
    change('/library', async (visitor, form) => {
      const files = Math.min(Math.max(Number(form.get('files')) || maxFilesAtOnce, 2), maxFilesAtOnce);
      const wanted = { filename: 'files', max_files: files };
      return toOwnPath((await tools.call(visitor, 'request_upload', wanted)).uploadUrl);
    }),
  );
  addLinkRoutes(routes, routing);
  addArtifactPages(routes, routing, rooms);
  addFileRoutes(routes, routing, rooms);
}
