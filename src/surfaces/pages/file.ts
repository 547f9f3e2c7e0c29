/** One stored file: what it is, a preview, its links, and what can be done with it. */
import type { Context, Hono } from 'hono';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { html, nothing, renderTime, type Html } from '../../platform/html/html.ts';
import { describeMediaType, toShownFile } from '../../core/links/link-page.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { answerFileContent } from './content.ts';
import { copyScript, renderAction } from './frame.ts';
import type { LibraryRooms } from './library-rooms.ts';
import { renderLinkTable, type ListedLink } from './links.ts';
import type { Visitor, Routing } from './routing.ts';
import { readShareTerms, renderMadeLink, renderShareForm } from './share.ts';
import type { ToolAnswers } from './tool-answers.ts';

export type ListedFile = ToolAnswers['list_files']['files'][number];

interface ShownLibraryFile {
  readonly file: ListedFile;
  readonly links: readonly ListedLink[];
  readonly preview: Html;
  readonly token: string;
  readonly maxTtl: number;
}

function renderFile({ file, links, preview, token, maxTtl }: ShownLibraryFile): Html {
  const address = `/library/${file.file_id}`;
  return html`<p><a href="/library">All files</a></p>
    <section class="card">
      <h1>${file.filename}</h1>
      <p class="facts">
        <span>${describeMediaType(file.mediaType)}</span>
        <span>${formatBytes(file.size)}</span>
        <span>until ${renderTime(Date.parse(file.expiresAt))}</span>
      </p>
      <div class="actions">
        <a class="button" href="${address}/content?download=1" download>Download</a>
        <a class="button danger" href="${address}/delete">Delete…</a>
      </div>
      <dl>
        <dt>Size</dt>
        <dd>${file.size.toLocaleString('en-GB')} bytes</dd>
        <dt>SHA-256</dt>
        <dd><code>${file.sha256}</code></dd>
        <dt>Type</dt>
        <dd>${file.mediaType}</dd>
        <dt>From</dt>
        <dd>${file.origin}</dd>
        <dt>Stored</dt>
        <dd>${renderTime(Date.parse(file.createdAt))}</dd>
        <dt>Id</dt>
        <dd><code>${file.file_id}</code></dd>
      </dl>
    </section>
    <section aria-labelledby="links">
      <h2 id="links">Share</h2>
      ${renderShareForm({ action: `${address}/share`, token, maxTtl })}
      ${links.length === 0 ? nothing : renderLinkTable({ links, token, back: address, hasNames: false })}
    </section>
    <section class="preview" aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      ${preview}
    </section>`;
}

const renderDeletion = (file: ListedFile, activeLinks: number, token: string): Html =>
  html`<section class="card">
    <h1>Delete ${file.filename}?</h1>
    <p>
      Its ${formatBytes(file.size)} are deleted at once and cannot be had back.
      ${activeLinks === 0 ? nothing : `${activeLinks === 1 ? 'Its link stops' : `Its ${activeLinks} links stop`} working.`}
    </p>
    <div class="actions">
      ${renderAction(`/library/${file.file_id}/delete`, 'Delete', token, 'danger')}
      <a href="/library/${file.file_id}">Keep it</a>
    </div>
  </section>`;

const linksOfFile = 50;

export function addFileRoutes(
  routes: Hono,
  { tools, show, change, showOnce, visit, fail }: Routing,
  { links, previews, maxTtl }: LibraryRooms,
): void {
  /** By the tool, which decides who may see it. */
  async function findFile(visitor: Visitor, id: string): Promise<ListedFile> {
    try {
      return (await tools.call(visitor, 'list_files', { file_id: id })).files[0]!;
    } catch (error) {
      throw isWorkcrateError(error, 'not_found') ? fileGoneError(error) : error;
    }
  }

  const listLinks = async (visitor: Visitor, id: string): Promise<readonly ListedLink[]> =>
    (await tools.call(visitor, 'link_status', { file_id: id, limit: linksOfFile })).links;

  const getId = ({ req }: Context): string => req.param('id') ?? '';

  routes.get(
    '/library/:id',
    show('/library', 'File', async (visitor, token, context) => {
      const file = await findFile(visitor, getId(context));
      const download = await links.openOwn(visitor.caller, file.file_id);
      const [own, preview] = await Promise.all([
        listLinks(visitor, file.file_id),
        renderIfStored(previews.render(toShownFile(download, `/library/${file.file_id}/content`))),
      ]);
      return renderFile({ file, links: own, preview, token, maxTtl });
    }),
  );
  routes.get('/library/:id/content', async (context) => {
    try {
      const visitor = visit(context);
      const { file_id } = await findFile(visitor, getId(context));
      return await answerFileContent(context, await links.openOwn(visitor.caller, file_id));
    } catch (cause) {
      return fail('/library', cause);
    }
  });
  routes.post(
    '/library/:id/share',
    showOnce(
      '/library',
      'Link',
      async (visitor, form, token, context) => {
        const file = await findFile(visitor, getId(context));
        const terms = readShareTerms(form);
        const link = await tools.call(visitor, 'share_file', { file_id: file.file_id, ...terms });
        return renderMadeLink({
          link,
          isSingleUse: terms.single_use,
          back: `/library/${file.file_id}`,
          token,
        });
      },
      copyScript,
    ),
  );
  routes.get(
    '/library/:id/delete',
    show('/library', 'Delete', async (visitor, token, context) => {
      const file = await findFile(visitor, getId(context));
      const active = (await listLinks(visitor, file.file_id)).filter(({ state }) => state === 'active');
      return renderDeletion(file, active.length, token);
    }),
  );
  routes.post(
    '/library/:id/delete',
    change('/library', async (visitor, _form, id) => {
      const { file_id } = await findFile(visitor, id);
      await tools.call(visitor, 'delete_file', { file_id });
      return '/library';
    }),
  );
}

/** The rest of the page is good for something without the bytes. */
async function renderIfStored(preview: Promise<Html>): Promise<Html> {
  try {
    return await preview;
  } catch (error) {
    if (!isWorkcrateError(error, 'bytes_gone')) throw error;
    return html`<p class="note failed">The bytes of this file are missing. Send it again.</p>`;
  }
}

const fileGoneError = (cause: Error): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    'No file of yours is here. It was deleted, perhaps in another tab, or its time is over.',
    { cause },
  );
