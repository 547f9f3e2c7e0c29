/**
 * The page of an upload: a person chooses or drops the file that was asked for. It receives nothing itself: its script
 * sends to the same address by tus, so that a broken upload goes on where it stopped. Programs get the state as JSON.
 */
import type { ServerResponse } from 'node:http';
import type { StoredFile } from '../files/files.ts';
import { html, nothing, renderPage, renderTime, type Html } from '../html/html.ts';
import { answerPage, createPolicy } from '../html/response.ts';
import { formatBytes } from '../text.ts';
import type { Upload } from './upload.ts';

/**
 * Plain text, since its hash has to stand in the policy of the page. Each piece is at most 8 MB; after a failure it asks
 * how much arrived, and tries again for about a minute. `Upload-Length` tells the length where none was announced.
 */
const uploadScript = `'use strict';
const [drop, input, bar, state, send] = ['.drop', 'input', 'progress', 'output', '#send'].map((one) => document.querySelector(one));
const version = { 'Tus-Resumable': '1.0.0' };
const pieceBytes = 8 * 1024 * 1024;
const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));
let chosen = null;
const choose = (files) => {
  chosen = files.length === 1 ? files[0] : null;
  send.disabled = chosen === null;
  state.value = files.length > 1 ? 'One file fits here. Put several into a ZIP, or ask for one address each.'
    : chosen ? chosen.name + ', ' + chosen.size.toLocaleString('en-GB') + ' bytes' : '';
};
const request = (method, headers, body) => new Promise((resolve, reject) => {
  const sending = new XMLHttpRequest();
  sending.open(method, location.pathname);
  for (const [name, value] of Object.entries({ ...version, ...headers })) sending.setRequestHeader(name, value);
  sending.onload = () => resolve(sending);
  sending.onerror = () => reject(new Error('The connection was lost.'));
  sending.upload.onprogress = (event) => { bar.value = sent + event.loaded; };
  sending.send(body);
});
let sent = 0;
const refusal = (answer) => {
  try { return JSON.parse(answer.responseText).error; } catch { return 'The server answered ' + answer.status + '.'; }
};
const askOffset = async () => {
  const answer = await request('HEAD', {});
  if (answer.status !== 200) throw Object.assign(new Error('This address has expired or was used.'), { isFinal: true });
  return Number(answer.getResponseHeader('Upload-Offset'));
};
const sendPiece = async () => {
  const piece = chosen.slice(sent, sent + pieceBytes);
  const headers = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': sent, 'Upload-Length': chosen.size };
  const answer = await request('PATCH', headers, piece);
  if (answer.status === 204) sent = Number(answer.getResponseHeader('Upload-Offset'));
  else if ([409, 423, 429, 503].includes(answer.status)) throw new Error(refusal(answer));
  else throw Object.assign(new Error(refusal(answer)), { isFinal: true });
  return answer;
};
const sendAll = async () => {
  for (let failures = 0; ;) try {
    const answer = await sendPiece();
    failures = 0;
    if (sent >= chosen.size) return answer;
  } catch (error) {
    if (error.isFinal || ++failures > 7) throw error;
    state.value = error.message + ' Trying again…';
    await pause(500 * 2 ** failures);
    sent = await askOffset().catch((lost) => { if (lost.isFinal) throw lost; return sent; });
  }
};
input.addEventListener('change', () => choose(input.files));
for (const name of ['dragenter', 'dragover']) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add('over'); });
for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'));
drop.addEventListener('drop', (event) => { event.preventDefault(); choose(event.dataTransfer.files); });
send.addEventListener('click', async () => {
  send.disabled = input.disabled = true;
  bar.hidden = false;
  bar.max = Math.max(1, chosen.size);
  state.value = 'Sending…';
  try {
    sent = await askOffset();
    const answer = await sendAll();
    bar.value = bar.max;
    send.hidden = drop.hidden = true;
    state.value = 'Sent. You can close this page. SHA-256: ' + answer.getResponseHeader('Workcrate-Sha256');
  } catch (error) {
    send.disabled = input.disabled = false;
    state.value = 'Not sent: ' + error.message;
  }
});
`;

const policy = createPolicy({ script: uploadScript, sends: true });

export interface UploadState {
  readonly upload: Upload;
  readonly offset: number;
  /** What it became, once it is complete. */
  readonly file: StoredFile | null;
  readonly maxFileSize: number;
}

export async function answerUploadPage(res: ServerResponse, state: UploadState): Promise<void> {
  const isOpen = state.upload.fileId === null;
  const page = await renderPage({
    title: isOpen ? `Send ${state.upload.name}` : `${state.upload.name} has arrived`,
    body: isOpen ? renderForm(state) : renderArrived(state),
    ...(isOpen && { script: uploadScript }),
  });
  answerPage(res, 200, page, policy);
}

function renderForm({ upload, offset, maxFileSize }: UploadState): Html {
  const size =
    upload.declaredSize === null
      ? `at most ${formatBytes(maxFileSize)}`
      : `${upload.declaredSize.toLocaleString('en-GB')} bytes`;
  return html`<section class="card">
    <h1>Send ${upload.name}</h1>
    <p class="facts">
      <span>${size}</span>
      <span>until ${renderTime(upload.expiresAt)}</span>
    </p>
    <p>Whoever gave you this address asks for this file. If you did not expect that, close the page.</p>
    ${
      offset > 0
        ? html`<p class="note">
            ${formatBytes(offset)} have arrived. Choose the same file again to send the rest.
          </p>`
        : nothing
    }
    <div class="drop">
      <p>Drop the file here, or choose it:</p>
      <input type="file" aria-label="File to send" />
    </div>
    <progress hidden value="0" max="1" aria-label="Progress"></progress>
    <div class="actions"><button type="button" id="send" disabled>Send</button></div>
    <output role="status"></output>
    <noscript>
      <p class="note">
        This page needs JavaScript to send. Without it:
        <code>curl -T FILE ADDRESS</code>
      </p>
    </noscript>
  </section>`;
}

const renderArrived = ({ upload, file }: UploadState): Html =>
  html`<section class="card">
    <h1>${upload.name} has arrived</h1>
    <p>Nothing more can be sent here. You can close this page.</p>
    ${
      file === null
        ? nothing
        : html`<dl>
            <dt>Size</dt>
            <dd>${file.size.toLocaleString('en-GB')} bytes</dd>
            <dt>SHA-256</dt>
            <dd><code>${file.sha256}</code></dd>
          </dl>`
    }
  </section>`;
