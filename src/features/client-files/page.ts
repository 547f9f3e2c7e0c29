/**
 * The route `/ask/{token}`: a page on which a person uploads the file, or lists the folder, that was asked for. It
 * receives nothing itself: the page sends to `/uploads/{token}`, which `core/links/` answers. Unknown tokens count for the
 * rate limit.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, isAbsolute } from 'node:path';
import { WorkcrateError } from '../../platform/errors.ts';
import { createBrowserScript } from '../../platform/html/browser-script.ts';
import { html, nothing, renderPage, renderTime, type Html } from '../../platform/html/html.ts';
import { sendPage, createPolicy } from '../../platform/html/response.ts';
import type { ClientFiles } from './client-files.ts';
import { endRecord } from './requests/commands.ts';
import type { PendingUpload } from './requests/pending-uploads.ts';

const askScript = createBrowserScript(import.meta, 'ask-page');

/** What the page tells: whoever has its address reads it. */
export type AskedFor = Pick<PendingUpload, 'operation' | 'name' | 'path' | 'expiresAt'>;

/** The page on which a person chooses what was asked for. `server` is the name under which the browser knows us. */
export function renderUploadPage(asked: AskedFor, server: string): Promise<string> {
  const isFile = asked.operation === 'read';
  return renderPage({
    title: 'Send to Workcrate',
    script: askScript,
    body: html`<section class="card">
      <h1>Send to Workcrate</h1>
      <p>
        ${isFile ? 'Workcrate asks for your file' : 'Workcrate asks what is in your folder'}
        <code>${asked.name}</code>${renderFolder(asked)}.
        ${isFile ? nothing : 'Names, sizes and times are sent, no content.'} If you did not expect this, close
        the page.
      </p>
      <div class="drop">
        ${
          isFile
            ? html`<input type="file" aria-label="File" />`
            : html`<input type="file" webkitdirectory data-end="${endRecord}" aria-label="Folder" />`
        }
      </div>
      <div class="actions">
        <button type="button" disabled>Send</button>${
          isFile ? nothing : html`<button type="button" class="quiet">The folder is empty</button>`
        }
      </div>
      <output role="status"></output>
      <dl>
        <dt>To</dt>
        <dd>${server}</dd>
        <dt>Until</dt>
        <dd>${renderTime(asked.expiresAt)}</dd>
      </dl>
    </section>`,
  });
}

/** Where it is in the project. Where the project itself is on the machine of a person is not told. */
function renderFolder({ path }: AskedFor): Html {
  const folder = isAbsolute(path) ? '.' : dirname(path);
  return folder === '.' ? html`${nothing}` : html` in the folder <code>${folder}</code>`;
}

/**
 * Answers `/ask/{token}`: the page that takes what a client was asked for. Whoever has the link may send, as with
 * `/uploads/{token}`; an unknown token is a guess, and counted as one.
 */
export function createAskRoute(bridge: Pick<ClientFiles, 'page'>) {
  return async (req: IncomingMessage, res: ServerResponse, token: string): Promise<void> => {
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new WorkcrateError('method_not_allowed', 'This page only answers GET.');
    const awaited = await bridge.page(token);
    if (awaited !== null)
      return sendPage(
        res,
        200,
        await renderUploadPage(awaited, req.headers.host ?? ''),
        createPolicy({ script: askScript, sends: true }),
      );
    throw new WorkcrateError(
      'upload_not_found',
      'This page is unknown, was used or has expired. Tell your assistant to ask again.',
    );
  };
}
