/**
 * The view in which a person picks files: their bytes go to the server in pieces by the host, past the model. A larger file
 * is sent from the page of the upload, which a browser opens. It runs in the frame of a host.
 */
import { maxSentBytes, pieceBytes } from './limits.ts';

export const filePickerView = String.raw`
const pieceBytes = ${pieceBytes};
const mostBytes = ${maxSentBytes};
const mostFiles = 20;
const sent = [];
let wantedPath = '';

const readPiece = (blob) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
  reader.onerror = () => reject(new Error('This file cannot be read any more. Pick it again.'));
  reader.readAsDataURL(blob);
});

const getToken = (url) => toText(url).slice(toText(url).lastIndexOf('/') + 1);

/** Sends one file; where an upload waits for it, into that. */
async function send(file, upload, report) {
  const { token } = upload ?? (await host.call('request_upload', { filename: file.name, size: file.size }));
  for (let offset = 0; ; ) {
    const data = await readPiece(file.slice(offset, offset + pieceBytes));
    const { received, file_id } = await host.call('send_piece', { token, offset, size: file.size, data: file.size === 0 ? '' : data });
    if (toText(file_id) !== '') return toText(file_id);
    if (!(Number(received) > offset)) throw new Error('The server did not take this file. Try again.');
    offset = Number(received);
    report(offset);
  }
}

async function addFile(file, upload, list) {
  const bar = make('progress', { max: String(Math.max(1, file.size)), value: '0', 'aria-label': 'Sending ' + file.name });
  const status = make('span', { class: 'muted', role: 'status' }, formatBytes(file.size));
  const item = make('li', null, make('span', { class: 'name' }, file.name), status, bar);
  list.append(item);
  try {
    if (file.size > mostBytes) throw new Error('It is larger than ' + formatBytes(mostBytes) + '. Send it from the page below.');
    const id = await send(file, upload, (done) => { bar.value = done; status.textContent = formatBytes(done) + ' of ' + formatBytes(file.size); });
    status.textContent = 'sent';
    status.className = 'state good';
    item.append(make('code', null, id));
    sent.push({ name: file.name, id });
  } catch (error) {
    status.textContent = 'not sent';
    status.className = 'state bad';
    item.append(sayFailure(error));
  }
  bar.remove();
}

function describeSent() {
  if (wantedPath !== '') return 'I sent ' + JSON.stringify(wantedPath) + '. Call read_client_file again with the same input.';
  return 'I sent ' + sent.map(({ name, id }) => JSON.stringify(name) + ' (file_id ' + id + ')').join(', ') + '.';
}

function showPicker({ upload, pageUrl, path }) {
  wantedPath = path ?? '';
  const isOne = upload !== null;
  const list = make('ul', { class: 'files', 'aria-live': 'polite' });
  const after = make('div', { class: 'actions' });
  const input = make('input', { type: 'file', id: 'file', multiple: !isOne, 'aria-describedby': 'hint', change: () => take([...input.files]) });
  let isBusy = false;

  async function take(files) {
    if (files.length === 0 || isBusy) return;
    isBusy = true;
    input.disabled = true;
    for (const file of files.slice(0, isOne ? 1 : mostFiles)) await addFile(file, upload, list);
    const left = files.length - (isOne ? 1 : mostFiles);
    if (left > 0) list.append(make('li', null, formatCount(left, 'more file was', 'more files were') + ' not sent: pick ' + (isOne ? 'one' : 'at most ' + mostFiles) + '.'));
    isBusy = false;
    input.disabled = isOne && sent.length > 0;
    input.value = '';
    if (sent.length > 0) after.replaceChildren(make('span', null, button('Tell the agent', press(async (pressed) => { await host.tell(describeSent()); pressed.textContent = 'Told'; }), { class: '' })));
  }

  const drop = make('div', {
    class: 'drop',
    dragover(event) { event.preventDefault(); drop.classList.add('over'); },
    dragleave() { drop.classList.remove('over'); },
    drop(event) { event.preventDefault(); drop.classList.remove('over'); take([...event.dataTransfer.files]); },
  },
    make('label', { for: 'file' }, isOne && path !== undefined ? ['Pick ', make('code', null, path), ' of your project, or drop it here.'] : 'Pick files, or drop them here.'),
    input,
    make('p', { class: 'muted small-text', id: 'hint' }, 'Up to ' + formatBytes(mostBytes) + ' each. They go to the server, and not into the conversation.'));
  const larger = toText(pageUrl) === '' ? null
    : make('p', { class: 'muted small-text' }, 'Larger files: ', button('Open the page of the upload', press(() => host.openLink(toText(pageUrl)))));
  show(make('header', { class: 'view-head' }, make('h1', null, isOne ? 'Send a file' : 'Send files')), drop, list, after, larger);
}

function showRead(data) {
  const size = formatBytes(data.size);
  show(make('header', { class: 'view-head' },
    make('span', { class: 'state good' }, make('span', { class: 'dot', 'aria-hidden': 'true' }), 'read'),
    make('h1', null, toText(data.path) || 'File'), make('span', { class: 'muted meta' }, [size, toText(data.source)].filter((part) => part !== '').join(' · '))));
}

startView('file-picker', {
  showResult(data) {
    if (data.status === 'read') return showRead(data);
    const offer = isObject(data.offer) ? data.offer : null;
    const pageUrl = offer?.pageUrl ?? data.uploadUrl;
    if (!host.canCall) return show(say('This host sends no files from a view.'), make('p', null, button('Open the page of the upload', press(() => host.openLink(toText(pageUrl))))));
    if (offer === null) return showPicker({ upload: null, pageUrl });
    if (toText(offer.uploadUrl) === '') return show(say('This file is read in place: the answer says how.'));
    showPicker({ upload: { token: getToken(offer.uploadUrl) }, pageUrl, path: toText(data.path) });
  },
});
`;
