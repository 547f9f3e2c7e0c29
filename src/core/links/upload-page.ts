/**
 * The page of an upload: a person chooses or drops the file that was asked for, or several. Its script sends to the same
 * address by tus, so that a broken upload goes on where it stopped; without scripts a plain form does. Programs get the
 * state as JSON.
 */
import type { ServerResponse } from 'node:http';
import type { StoredFile } from '../files/files.ts';
import { html, nothing, renderPage, renderTime, type Html } from '../../platform/html/html.ts';
import { sendPage, createPolicy } from '../../platform/html/response.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { renderUploadForm, uploadScript } from './upload-form.ts';
import type { Upload } from './upload.ts';

export interface UploadState {
  readonly upload: Upload;
  readonly offset: number;
  /** What has arrived: all files of a batch, or the one that it became. */
  readonly files: readonly StoredFile[];
  readonly maxFileSize: number;
}

/** Whether nothing more can be sent. */
export const isComplete = ({ fileId, filesLeft }: Upload): boolean =>
  filesLeft === null ? fileId !== null : filesLeft === 0;

export async function answerUploadPage(res: ServerResponse, state: UploadState): Promise<void> {
  const { upload } = state;
  const isOpen = !isComplete(upload);
  const page = await renderPage({
    title: isOpen ? `Send ${upload.name}` : `${upload.name} has arrived`,
    body: isOpen ? renderOpen(state) : renderArrived(state),
    ...(isOpen && { script: uploadScript }),
  });
  sendPage(res, 200, page, createUploadPolicy(), formHeaders);
}

const createUploadPolicy = (): string => createPolicy({ script: uploadScript, sends: true, submits: true });

/** Without a referrer a browser would send the form as if from nowhere; the address goes to this server alone. */
const formHeaders = { 'Referrer-Policy': 'same-origin' };

/** What a browser without scripts is told of a form that was refused. */
export async function answerRefusedForm(res: ServerResponse, status: number, words: string): Promise<void> {
  const body = html`<section class="card">
    <h1>Not sent</h1>
    <p>${words}</p>
    <p><a href="">Back</a></p>
  </section>`;
  sendPage(res, status, await renderPage({ title: 'Not sent', body }), createUploadPolicy(), formHeaders);
}

function renderOpen({ upload, offset, files, maxFileSize }: UploadState): Html {
  const { filesLeft } = upload;
  return html`<section class="card">
    <h1>Send ${upload.name}</h1>
    <p class="facts">
      <span>${describeTerms(upload, maxFileSize)}</span>
      <span>until ${renderTime(upload.expiresAt)}</span>
    </p>
    <p>
      Whoever gave you this address asks for ${filesLeft === null ? 'this file' : 'these files'}. If you did
      not expect that, close the page.
    </p>
    ${
      offset > 0
        ? html`<p class="note">
            ${formatBytes(offset)} have arrived. Choose the same file again to send the rest.
          </p>`
        : nothing
    }
    ${renderUploadForm({ maxFiles: filesLeft ?? 1 })}
    <noscript>
      <form method="post" enctype="multipart/form-data">
        <div class="drop">
          <input
            type="file"
            name="file"
            required
            aria-label="${filesLeft === null ? 'File to send' : 'Files to send'}"
            ${filesLeft === null ? nothing : html`multiple`}
          />
        </div>
        <div class="actions"><button>Send</button></div>
        <p class="muted">
          Without JavaScript there is no progress to see, and what breaks off has to be sent again.
        </p>
      </form>
    </noscript>
    ${files.length === 0 ? nothing : renderArrivedFiles(files)}
  </section>`;
}

function describeTerms({ declaredSize, filesLeft }: Upload, maxFileSize: number): string {
  if (filesLeft !== null)
    return `up to ${filesLeft} ${filesLeft === 1 ? 'file' : 'files'} of at most ${formatBytes(maxFileSize)} each`;
  return declaredSize === null
    ? `at most ${formatBytes(maxFileSize)}`
    : `${declaredSize.toLocaleString('en-GB')} bytes`;
}

const renderArrived = ({ upload, files }: UploadState): Html =>
  html`<section class="card">
    <h1>${upload.name} has arrived</h1>
    <p>Nothing more can be sent here. You can close this page.</p>
    ${renderArrivedFiles(files)}
  </section>`;

const renderArrivedFiles = (files: readonly StoredFile[]): Html =>
  html`${files.length > 1 ? html`<h2>Arrived</h2>` : nothing}
  ${files.map(
    (file) =>
      html`<dl>
        <dt>Name</dt>
        <dd>${file.name}</dd>
        <dt>Size</dt>
        <dd>${file.size.toLocaleString('en-GB')} bytes</dd>
        <dt>SHA-256</dt>
        <dd><code>${file.sha256}</code></dd>
      </dl>`,
  )}`;
