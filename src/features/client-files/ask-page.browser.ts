/**
 * The page that asks for a file or a folder: sends the chosen file, or the names, sizes and times of a chosen folder and
 * no content. Browsers choose no empty folder, so that there is a button for it. The project's own folder may have any
 * name.
 */
import { find } from '../../platform/html/elements.browser.ts';

const askedForm = find(document, 'main', HTMLElement);
const askInput = find(askedForm, 'input', HTMLInputElement);
const askState = find(askedForm, 'output', HTMLOutputElement);
const [sendButton, emptyButton = null] = askedForm.querySelectorAll('button');
const askedName = find(askedForm, 'code', HTMLElement).textContent.normalize('NFC');
/** What says that a list of a folder is whole; a file has none. */
const lastLine = askInput.dataset.end;
const isFolder = lastLine !== undefined;

const toListing = (files: Iterable<File>): Blob =>
  new Blob([...Array.from(files, describeEntry), lastLine!].map((line) => `${line}\n`));

function describeEntry({ webkitRelativePath, size, lastModified }: File): string {
  const path = webkitRelativePath.slice(webkitRelativePath.indexOf('/') + 1);
  return JSON.stringify({ path, type: 'file', size, mtime: lastModified });
}

function isOther(first: File | undefined): boolean {
  if (first === undefined || (isFolder && askedName === 'project')) return false;
  const name = isFolder ? first.webkitRelativePath.split('/')[0]! : first.name;
  return name.normalize('NFC') !== askedName;
}

const getFiles = (): readonly File[] => [...(askInput.files ?? [])];

function enableButtons(): void {
  const hasFiles = getFiles().length > 0;
  sendButton!.disabled = !hasFiles;
  if (emptyButton !== null) emptyButton.disabled = hasFiles;
}

async function send(body: Blob): Promise<void> {
  for (const button of [sendButton, emptyButton]) if (button) button.disabled = true;
  askState.value = 'Sending…';
  try {
    const token = location.pathname.split('/').pop()!;
    const answer = await fetch(`../uploads/${token}`, { method: 'PUT', body, credentials: 'omit' });
    if (!answer.ok) throw new Error(((await answer.json()) as { readonly error: string }).error);
    askInput.disabled = true;
    askState.value = 'Sent. You can close this page.';
  } catch (error) {
    enableButtons();
    askState.value = `Not sent: ${error instanceof Error ? error.message : String(error)}`;
  }
}

askInput.addEventListener('change', () => {
  enableButtons();
  askState.value = isOther(getFiles()[0])
    ? `Asked for was ${askedName}. Send this one only if you mean to.`
    : '';
});
sendButton!.addEventListener('click', () => void send(isFolder ? toListing(getFiles()) : getFiles()[0]!));
emptyButton?.addEventListener('click', () => void send(toListing([])));
