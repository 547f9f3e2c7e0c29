/**
 * The route `/ask/{token}`: a page on which a person uploads the file, or lists the folder, that was asked for. It
 * receives nothing itself: the page sends to `/uploads/{token}`, which `links/` answers. Unknown tokens count for the
 * rate limit.
 */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WorkcrateError } from '../errors.ts';
import type { ClientFiles } from './client-files.ts';
import { endRecord } from './requests/commands.ts';
import type { PendingUpload } from './requests/pending-uploads.ts';

// outbound: it is the browser that asks, in the page of an upload

/**
 * What the page does: sends the chosen file, or the names, sizes and times of a chosen folder and no content. It is
 * plain text here, since its hash has to stand in the policy of the page. Browsers choose no empty folder, so that
 * there is a button for it. The project's own folder may have any name.
 */
const pageScript = `'use strict';
const token = location.pathname.split('/').pop();
const [input, state] = ['input', 'output'].map((name) => document.querySelector(name));
const [send, empty] = document.querySelectorAll('button');
const asked = document.querySelector('code').textContent.normalize('NFC');
const isFolder = input.hasAttribute('webkitdirectory');
const lines = (files) => [
  ...Array.from(files, (file) => {
    const path = file.webkitRelativePath.split('/').slice(1).join('/');
    return JSON.stringify({ path, type: 'file', size: file.size, mtime: file.lastModified }) + '\\n';
  }),
  '${endRecord}\\n',
];
const isOther = ([first]) => {
  if (first === undefined || (isFolder && asked === 'project')) return false;
  const name = isFolder ? first.webkitRelativePath.split('/')[0] : first.name;
  return name.normalize('NFC') !== asked;
};
const ready = () => {
  send.disabled = input.files.length === 0;
  if (empty) empty.disabled = input.files.length > 0;
};
const put = async (body) => {
  send.disabled = true;
  if (empty) empty.disabled = true;
  state.value = 'Sending…';
  try {
    const answer = await fetch('../uploads/' + token, { method: 'PUT', body, credentials: 'omit' });
    if (!answer.ok) throw new Error((await answer.json()).error);
    input.disabled = true;
    state.value = 'Sent. You can close this page.';
  } catch (error) {
    ready();
    state.value = 'Not sent: ' + error.message;
  }
};
input.addEventListener('change', () => {
  ready();
  state.value = isOther(input.files) ? 'Asked for was ' + asked + '. Send this one only if you mean to.' : '';
});
send.addEventListener('click', () => put(isFolder ? new Blob(lines(input.files)) : input.files[0]));
if (empty) empty.addEventListener('click', () => put(new Blob(lines([]))));
`;

const pageStyle = `:root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 12vh auto; padding: 0 1rem; }
code { overflow-wrap: anywhere; }
input, button { font: inherit; display: block; margin: 1.2rem 0; max-width: 100%; }
button { padding: 0.4rem 1.6rem; }
`;

const toCspSource = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

/** Nothing but this very script and style runs, it speaks to this server alone, and nobody frames it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `script-src ${toCspSource(pageScript)}`,
  `style-src ${toCspSource(pageStyle)}`,
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': contentSecurityPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** The page on which a person chooses what was asked for. It tells no more than the name. */
export function renderUploadPage({ operation, name }: Pick<PendingUpload, 'operation' | 'name'>): string {
  const shown = `<code>${escapeHtmlText(name)}</code>`;
  const [asks, input, empty] =
    operation === 'read'
      ? [`Workcrate asks for your file ${shown}.`, '<input type="file" aria-label="File">', '']
      : [
          `Workcrate asks what is in your folder ${shown}. Names, sizes and times are sent, no content.`,
          '<input type="file" webkitdirectory aria-label="Folder">',
          '<button type="button">The folder is empty</button>\n',
        ];
  return renderPage(`<p>${asks} If you did not expect this, close the page.</p>
${input}
<button type="button" disabled>Send</button>
${empty}<output role="status"></output>
<script>${pageScript}</script>`);
}

/** For whoever comes to a page that is no longer, or never was. */
const renderMessagePage = (words: string): string => renderPage(`<p>${escapeHtmlText(words)}</p>`);

const renderPage = (body: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Send to Workcrate</title>
<style>${pageStyle}</style>
<h1>Send to Workcrate</h1>
${body}
</html>
`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtmlText = (text: string): string => text.replace(/[&<>"']/g, (mark) => entities[mark]!);

/**
 * Answers `/ask/{token}`: the page that takes what a client was asked for. Whoever has the link may send, as with
 * `/uploads/{token}`; an unknown token is a guess, and counted as one.
 */
export function createAskRoute(bridge: Pick<ClientFiles, 'page'>) {
  return async (req: IncomingMessage, res: ServerResponse, token: string): Promise<void> => {
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new WorkcrateError('method_not_allowed', 'This page only answers GET.');
    const awaited = await bridge.page(token);
    if (awaited !== null) return answerPage(res, 200, renderUploadPage(awaited));
    const gone = new WorkcrateError(
      'upload_not_found',
      'This page is unknown, was used or has expired. Tell your assistant to ask again.',
    );
    if (isForPeople(req) && !res.destroyed) {
      answerPage(res, 404, renderMessagePage(gone.message));
      await once(res, 'close');
    }
    // Thrown all the same, so that it is counted and logged as any other guess is.
    throw gone;
  };
}

/** Programs are answered in JSON. */
const isForPeople = ({ headers }: IncomingMessage): boolean => /\btext\/html\b/i.test(headers.accept ?? '');

function answerPage(res: ServerResponse, status: number, page: string): void {
  const body = Buffer.from(page);
  res.writeHead(status, { ...pageHeaders, 'Content-Length': body.length });
  res.end(res.req.method === 'HEAD' ? undefined : body);
}
