/** The piece of a page with which a person sends files: it is shown by its script (`upload-script.ts`), which sends them. */
import { html, nothing, type Html } from '../../platform/html/html.ts';

export { uploadScript } from './upload-script.ts';

export interface UploadForm {
  /** How many files it takes. */
  readonly most: number;
  /** Where an address is asked for when files are sent, by a form with this token; absent on the page of an address. */
  readonly ask?: { readonly path: string; readonly token: string };
}

export const renderUploadForm = ({ most, ask }: UploadForm): Html =>
  html`<div
    class="sender"
    hidden
    data-most="${most}"
    ${ask === undefined ? nothing : html`data-ask="${ask.path}" data-token="${ask.token}"`}
  >
    <div class="drop">
      <p>
        ${most === 1 ? 'Drop the file here, or choose it:' : `Drop files here, or choose them, up to ${most}:`}
      </p>
      <input
        type="file"
        aria-label="${most === 1 ? 'File to send' : 'Files to send'}"
        ${most === 1 ? nothing : html`multiple`}
      />
    </div>
    <ul class="sending"></ul>
    <div class="actions"><button type="button" class="send" disabled>Send</button></div>
    <output role="status"></output>
  </div>`;
