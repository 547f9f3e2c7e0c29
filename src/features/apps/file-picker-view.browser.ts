/**
 * The view in which a person picks files: their bytes go to the server in pieces by the host, past the model. A larger
 * file is sent from the page of the upload, which a browser opens.
 */
import { make } from '../../platform/html/elements.browser.ts';
import { countThings, formatBytes } from '../../platform/text/text.ts';
import { host, isObject, toText, type Untrusted } from './host.browser.ts';
import { maxSentBytes, pieceBytes } from './limits.ts';
import {
  describeSize,
  joinFacts,
  makeButton,
  makeFailure,
  makeStatus,
  makeViewHead,
  show,
  startView,
} from './view.browser.ts';

const maxPickedFiles = 20;
const sentFiles: { readonly name: string; readonly id: string }[] = [];

/** An upload that waits for one file. */
interface WaitingUpload {
  readonly token: string;
}

interface Picker {
  readonly upload: WaitingUpload | null;
  readonly pageUrl: unknown;
  /** The file of the project that was asked for; empty where any will do. */
  readonly path: string;
}

const readBlobPiece = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      const address = reader.result as string;
      resolve(address.slice(address.indexOf(',') + 1));
    });
    reader.addEventListener('error', () =>
      reject(new Error('This file cannot be read any more. Pick it again.')),
    );
    reader.readAsDataURL(blob);
  });

/** Sends one file, into the upload that waits for it or into a new one, and gives its id. */
async function sendPicked(
  file: File,
  upload: WaitingUpload | null,
  report: (sentBytes: number) => void,
): Promise<string> {
  const { name: filename, size } = file;
  const { token } = upload ?? (await host.call('request_upload', { filename, size }));
  for (let offset = 0; ;) {
    const data = size === 0 ? '' : await readBlobPiece(file.slice(offset, offset + pieceBytes));
    const { received, file_id } = await host.call('send_piece', { token, offset, size, data });
    if (toText(file_id) !== '') return toText(file_id);
    if (!(Number(received) > offset)) throw new Error('The server did not take this file. Try again.');
    offset = Number(received);
    report(offset);
  }
}

async function addPicked(file: File, upload: WaitingUpload | null, list: HTMLElement): Promise<void> {
  const size = formatBytes(file.size);
  const bar = make('progress', {
    max: Math.max(1, file.size),
    value: 0,
    'aria-label': `Sending ${file.name}`,
  });
  const status = make('span', { class: 'muted', role: 'status' }, size);
  const entry = make('li', {}, make('span', { class: 'name' }, file.name), status, bar);
  list.append(entry);
  const report = (sentBytes: number): void => {
    bar.value = sentBytes;
    status.textContent = `${formatBytes(sentBytes)} of ${size}`;
  };
  try {
    if (file.size > maxSentBytes)
      throw new Error(`It is larger than ${formatBytes(maxSentBytes)}. Send it from the page below.`);
    const id = await sendPicked(file, upload, report);
    Object.assign(status, { textContent: 'sent', className: 'state good' });
    entry.append(make('code', {}, id));
    sentFiles.push({ name: file.name, id });
  } catch (error) {
    Object.assign(status, { textContent: 'not sent', className: 'state bad' });
    entry.append(makeFailure(error));
  }
  bar.remove();
}

const describeSent = (path: string): string =>
  path === ''
    ? `I sent ${sentFiles.map(({ name, id }) => `${JSON.stringify(name)} (file_id ${id})`).join(', ')}.`
    : `I sent ${JSON.stringify(path)}. Call read_client_file again with the same input.`;

function showPicker({ upload, pageUrl, path }: Picker): void {
  const maxCount = upload === null ? maxPickedFiles : 1;
  const list = make('ul', { class: 'files', 'aria-live': 'polite' });
  const after = make('div', { class: 'actions' });
  const input = make('input', {
    type: 'file',
    id: 'file',
    multiple: maxCount > 1,
    'aria-describedby': 'hint',
  });
  let isBusy = false;

  async function takeFiles(files: readonly File[]): Promise<void> {
    if (files.length === 0 || isBusy) return;
    isBusy = true;
    input.disabled = true;
    for (const file of files.slice(0, maxCount)) await addPicked(file, upload, list);
    const left = files.length - maxCount;
    if (left > 0) list.append(make('li', {}, describeLeft(left, maxCount)));
    isBusy = false;
    input.disabled = maxCount === 1 && sentFiles.length > 0;
    input.value = '';
    if (sentFiles.length > 0) after.replaceChildren(make('span', {}, makeTellButton(path)));
  }

  input.addEventListener('change', () => void takeFiles([...(input.files ?? [])]));
  show(
    makeViewHead(maxCount === 1 ? 'Send a file' : 'Send files'),
    makeDrop(input, maxCount === 1 ? path : '', takeFiles),
    list,
    after,
    toText(pageUrl) === ''
      ? null
      : make('p', { class: 'muted small-text' }, 'Larger files: ', makePageButton(pageUrl)),
  );
}

const describeLeft = (count: number, max: number): string =>
  `${countThings(count, 'more file')} ${count === 1 ? 'was' : 'were'} not sent: pick ${max === 1 ? 'one' : `at most ${max}`}.`;

const makeTellButton = (path: string): HTMLElement =>
  makeButton(
    'Tell the agent',
    async (button) => {
      await host.tell(describeSent(path));
      button.textContent = 'Told';
    },
    { class: '' },
  );

const makePageButton = (pageUrl: unknown): HTMLElement =>
  makeButton('Open the page of the upload', () => host.openLink(pageUrl));

function makeDrop(
  input: HTMLInputElement,
  path: string,
  takeFiles: (files: readonly File[]) => unknown,
): HTMLElement {
  const words =
    path === ''
      ? 'Pick files, or drop them here.'
      : ['Pick ', make('code', {}, path), ' of your project, or drop it here.'];
  const hint = `Up to ${formatBytes(maxSentBytes)} each. They go to the server, and not into the conversation.`;
  const drop = make(
    'div',
    { class: 'drop' },
    make('label', { for: 'file' }, words),
    input,
    make('p', { class: 'muted small-text', id: 'hint' }, hint),
  );
  drop.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    takeFiles([...(event.dataTransfer?.files ?? [])]);
  });
  return drop;
}

function showRead({ path, size, source }: Untrusted): void {
  const facts = joinFacts(describeSize(size), toText(source));
  const head = makeViewHead(toText(path) || 'File', make('span', { class: 'muted meta' }, facts));
  head.prepend(
    make('span', { class: 'state good' }, make('span', { class: 'dot', 'aria-hidden': 'true' }), 'read'),
  );
  show(head);
}

startView('file-picker', {
  showResult(data) {
    if (data.status === 'read') return showRead(data);
    const offer = isObject(data.offer) ? data.offer : null;
    const pageUrl = offer?.pageUrl ?? data.uploadUrl;
    if (!host.canCall)
      return show(
        makeStatus('This host sends no files from a view.'),
        make('p', {}, makePageButton(pageUrl)),
      );
    if (offer === null) return showPicker({ upload: null, pageUrl, path: '' });
    const uploadUrl = toText(offer.uploadUrl);
    if (uploadUrl === '') return show(makeStatus('This file is read in place: the answer says how.'));
    const token = uploadUrl.slice(uploadUrl.lastIndexOf('/') + 1);
    return showPicker({ upload: { token }, pageUrl, path: toText(data.path) });
  },
});
