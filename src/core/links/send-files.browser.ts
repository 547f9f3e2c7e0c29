/**
 * Sends the files that a person chose to a page by tus. Each piece is at most 8 MB; after a failure it asks how much
 * arrived, and tries again for about a minute. It uses no clock. The address is that of the page, or it asks for one
 * (`data-ask`) when files are sent. One that takes several files (`data-max`) makes a place for each, which is
 * remembered until the tab is closed.
 */
import { find, make } from '../../platform/html/elements.browser.ts';
import { formatBytes } from '../../platform/text/text.ts';

const maxPieceBytes = 8 * 1024 * 1024;
const maxFailures = 7;

const form = find(document, '.sender', HTMLElement);
const drop = find(form, '.drop', HTMLElement);
const fileInput = find(form, 'input[type=file]', HTMLInputElement);
const chosenList = find(form, 'ul', HTMLElement);
const sendState = find(form, 'output', HTMLOutputElement);
const sendButton = find(form, '.send', HTMLButtonElement);
const maxSentFiles = Number(form.dataset.max);
/** Where an address is asked for; undefined on the page of an address. */
const askPath = form.dataset.ask;

interface ChosenFile {
  readonly file: File;
  readonly row: HTMLElement;
  readonly bar: HTMLProgressElement;
  readonly status: HTMLElement;
  readonly removal: HTMLButtonElement;
  isDone: boolean;
  hasBegun: boolean;
  address: string | null;
}

/** How much of a file the server has. */
interface Arrived {
  readonly offset: number;
  readonly isDone: boolean;
  readonly sha256: string | null;
}

class SendFailure extends Error {
  /** Whether to try again helps nothing. */
  readonly isFinal: boolean;
  readonly isGone: boolean;

  constructor(words: string, { isFinal = true, isGone = false } = {}) {
    super(words);
    this.isFinal = isFinal;
    this.isGone = isGone;
  }
}

let chosen: ChosenFile[] = [];
let isSending = false;

function showButtons(): void {
  const waiting = chosen.filter(({ isDone }) => !isDone).length;
  sendButton.disabled = isSending || waiting === 0;
  sendButton.textContent = waiting > 1 ? `Send ${waiting} files` : 'Send';
  fileInput.disabled = isSending;
}

function addChosen(file: File): void {
  const bar = make('progress', {
    max: Math.max(1, file.size),
    value: 0,
    'aria-label': `Sent of ${file.name}`,
    hidden: true,
  });
  const status = make('span', { class: 'muted' }, formatBytes(file.size));
  const removal = make(
    'button',
    { type: 'button', class: 'quiet small', 'aria-label': `Remove ${file.name}` },
    'Remove',
  );
  const row = make('li', {}, make('strong', {}, file.name), status, removal, bar);
  const one = { file, row, bar, status, removal, isDone: false, hasBegun: false, address: null };
  removal.addEventListener('click', () => removeChosen(one));
  chosenList.append(row);
  chosen.push(one);
}

function removeChosen(one: ChosenFile): void {
  chosen = chosen.filter((other) => other !== one);
  one.row.remove();
  showButtons();
  fileInput.focus();
}

function chooseFiles(files: readonly File[]): void {
  if (maxSentFiles === 1 && files.length === 1) for (const one of chosen) removeChosen(one);
  const left = maxSentFiles - chosen.length;
  sendState.value = files.length <= left ? '' : describeTooMany();
  if (maxSentFiles > 1 || files.length === 1) for (const file of files.slice(0, left)) addChosen(file);
  fileInput.value = '';
  showButtons();
}

const describeTooMany = (): string =>
  maxSentFiles === 1
    ? 'One file fits here. Put several into a ZIP, or ask for an address for several.'
    : `At most ${maxSentFiles} files fit here; the first of them are listed.`;

interface TusRequest {
  readonly address: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Blob;
  readonly report?: (sentBytes: number) => void;
}

/** By XMLHttpRequest, since only that says how much was sent. */
function request({ address, method, headers = {}, body, report }: TusRequest): Promise<XMLHttpRequest> {
  const sending = new XMLHttpRequest();
  sending.open(method, address);
  sending.setRequestHeader('Tus-Resumable', '1.0.0');
  for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, String(value));
  if (report !== undefined) sending.upload.addEventListener('progress', ({ loaded }) => report(loaded));
  return new Promise((resolve, reject) => {
    sending.addEventListener('load', () => resolve(sending));
    sending.addEventListener('error', () =>
      reject(new SendFailure('The connection was lost.', { isFinal: false })),
    );
    sending.send(body);
  });
}

const isPassing = (status: number): boolean => [409, 423, 429, 503].includes(status);

const describeAnswer = (status: number): string => `The server answered ${status}.`;

const toSendFailure = ({ status, responseText }: XMLHttpRequest): SendFailure =>
  new SendFailure(readErrorWords(responseText) ?? describeAnswer(status), {
    isFinal: !isPassing(status),
  });

function readErrorWords(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : null;
  } catch {
    return null; // It was no JSON.
  }
}

const toPath = (url: string): string => new URL(url, location.href).pathname;

let askedAddress: Promise<string> | null = null;

function findAddress(): Promise<string> {
  if (askPath === undefined) return Promise.resolve(location.pathname);
  return (askedAddress ??= askAddress(askPath).catch((error: unknown) => {
    askedAddress = null;
    throw error;
  }));
}

async function askAddress(path: string): Promise<string> {
  const body = new URLSearchParams({ token: form.dataset.token!, files: String(chosen.length) });
  const answer = await fetch(path, { method: 'POST', body });
  if (answer.ok) return toPath(answer.url);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const words = page.querySelector('main p')?.textContent ?? describeAnswer(answer.status);
  throw new SendFailure(words, { isFinal: !isPassing(answer.status) });
}

/** Where a browser lets pages remember nothing, a file that is chosen again is sent again. */
function readPlace(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

function rememberPlace(key: string, address: string): void {
  try {
    sessionStorage.setItem(key, address);
  } catch {
    // The place is known until the page is closed.
  }
}

const encodeBase64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

const readArrived = (answer: XMLHttpRequest): Arrived => ({
  offset: Number(answer.getResponseHeader('Upload-Offset')),
  isDone: answer.getResponseHeader('Workcrate-File-Id') !== null,
  sha256: answer.getResponseHeader('Workcrate-Sha256'),
});

async function askArrived(address: string): Promise<Arrived> {
  const answer = await request({ address, method: 'HEAD' });
  if (answer.status === 200) return readArrived(answer);
  throw new SendFailure('This address has expired or was used.', { isGone: answer.status === 404 });
}

async function findPlace(one: ChosenFile): Promise<Arrived> {
  const address = await findAddress();
  if (maxSentFiles > 1) return findPlaceOfSeveral(one, address);
  one.address = address;
  const arrived = await askArrived(address);
  if (arrived.isDone && !one.hasBegun) throw new SendFailure('This address was used already.');
  return arrived;
}

/** The place that was made for this file before, or a new one. */
async function findPlaceOfSeveral(one: ChosenFile, address: string): Promise<Arrived> {
  const { name, size, lastModified } = one.file;
  const key = [address, name, size, lastModified].join(' ');
  one.address ??= readPlace(key);
  const known = one.address === null ? null : await askArrivedUnlessGone(one.address);
  if (known !== null) return known;
  const metadata = `filename ${encodeBase64(name)}`;
  const headers = { 'Upload-Length': size, 'Upload-Metadata': metadata };
  const answer = await request({ address, method: 'POST', headers });
  if (answer.status !== 201) throw toSendFailure(answer);
  one.address = toPath(answer.getResponseHeader('Location')!);
  rememberPlace(key, one.address);
  return { ...readArrived(answer), offset: 0 };
}

const askArrivedUnlessGone = (address: string): Promise<Arrived | null> =>
  askArrived(address).catch((error: unknown) => {
    if (error instanceof SendFailure && error.isGone) return null;
    throw error;
  });

async function sendPiece({ address, file, bar }: ChosenFile, offset: number): Promise<Arrived> {
  const headers = {
    'Content-Type': 'application/offset+octet-stream',
    'Upload-Offset': offset,
    'Upload-Length': file.size,
  };
  const answer = await request({
    address: address!,
    method: 'PATCH',
    headers,
    body: file.slice(offset, offset + maxPieceBytes),
    report: (sentBytes) => (bar.value = offset + sentBytes),
  });
  if (answer.status !== 204) throw toSendFailure(answer);
  return readArrived(answer);
}

async function sendChosenFile(one: ChosenFile): Promise<Arrived> {
  const { bar, removal, status } = one;
  bar.hidden = false;
  removal.hidden = true;
  let arrived: Arrived | null = null;
  for (let failures = 0; ;)
    try {
      arrived ??= await findPlace(one);
      while (!arrived.isDone) {
        status.textContent = 'sending…';
        one.hasBegun = true;
        arrived = await sendPiece(one, arrived.offset);
        failures = 0;
      }
      showArrived(one);
      return arrived;
    } catch (cause) {
      const error = asError(cause);
      failures++;
      if (isFinal(error) || failures > maxFailures) throw showNotSent(one, error);
      status.textContent = `${error.message} Trying again…`;
      await new Promise((resume) => setTimeout(resume, 500 * 2 ** failures));
      arrived = null;
    }
}

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));

const isFinal = (error: Error): boolean => error instanceof SendFailure && error.isFinal;

function showArrived(one: ChosenFile): void {
  one.bar.value = one.bar.max;
  one.status.textContent = `${formatBytes(one.file.size)}, arrived`;
  one.status.className = 'state good';
  one.isDone = true;
}

function showNotSent({ bar, removal, status }: ChosenFile, error: Error): Error {
  status.textContent = `not sent: ${error.message}`;
  bar.hidden = true;
  removal.hidden = false;
  return error;
}

async function sendChosen(): Promise<void> {
  let last: Arrived | null = null;
  let failure: Error | null = null;
  isSending = true;
  sendState.value = 'Sending…';
  showButtons();
  for (const one of chosen.filter(({ isDone }) => !isDone))
    try {
      last = await sendChosenFile(one);
    } catch (error) {
      failure = asError(error);
    }
  isSending = false;
  showButtons();
  const done = chosen.filter(({ isDone }) => isDone).length;
  if (failure !== null) sendState.value = describeNotSent(failure, done);
  else if (askPath !== undefined) location.reload();
  else showSent(done, last?.sha256 ?? null);
}

const describeNotSent = ({ message }: Error, done: number): string =>
  maxSentFiles === 1
    ? `Not sent: ${message}`
    : `Not sent: ${chosen.length - done} of ${chosen.length} files. Send again to go on.`;

function showSent(done: number, sha256: string | null): void {
  sendButton.hidden = drop.hidden = maxSentFiles === 1 || done >= maxSentFiles;
  sendState.value =
    maxSentFiles === 1
      ? `Sent. You can close this page.${sha256 === null ? '' : ` SHA-256: ${sha256}`}`
      : `Sent: ${done} ${done === 1 ? 'file has' : 'files have'} arrived. You can close this page.`;
}

fileInput.addEventListener('change', () => chooseFiles([...(fileInput.files ?? [])]));
for (const name of ['dragenter', 'dragover'])
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'));
drop.addEventListener('drop', (event) => {
  event.preventDefault();
  if (!isSending) chooseFiles([...(event.dataTransfer?.files ?? [])]);
});
sendButton.addEventListener('click', () => void sendChosen());
addEventListener('beforeunload', (event) => {
  if (isSending) event.preventDefault();
});
form.hidden = false;
showButtons();
