/** The piece of a page with which a person sends files: it is shown by its script (`send-files.browser.ts`), which sends them. */
import { createBrowserScript } from '../../platform/html/browser-script.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';

export const uploadScript = createBrowserScript(import.meta, 'send-files');

export interface UploadForm {
  /** How many files it takes. */
  readonly maxFiles: number;
  /** Where an address is asked for when files are sent, by a form with this token; absent on the page of an address. */
  readonly ask?: { readonly path: string; readonly token: string };
}

export const renderUploadForm = ({ maxFiles, ask }: UploadForm): Html =>
  html`<div
    class="sender"
    hidden
    data-max="${maxFiles}"
    ${ask === undefined ? nothing : html`data-ask="${ask.path}" data-token="${ask.token}"`}
  >
    <div class="drop">
      <p>
        ${maxFiles === 1 ? 'Drop the file here, or choose it:' : `Drop files here, or choose them, up to ${maxFiles}:`}
      </p>
      <input
        type="file"
        aria-label="${maxFiles === 1 ? 'File to send' : 'Files to send'}"
        ${maxFiles === 1 ? nothing : html`multiple`}
      />
    </div>
    <ul class="sending"></ul>
    <div class="actions"><button type="button" class="send" disabled>Send</button></div>
    <output role="status"></output>
  </div>`;
