/** What views are made of, and how each begins. No element has an address, but for pictures as data URIs. */
import {
  find,
  flatten,
  make,
  type ElementAttributes,
  type ElementChild,
} from '../../platform/html/elements.browser.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { host, readData, toAnswerText, toObject, type Untrusted } from './host.browser.ts';

export const viewElement = find(document, '#view', HTMLElement);

export const show = (...children: ElementChild[]): void => viewElement.replaceChildren(...flatten(children));

export const makeStatus = (words: string): HTMLElement =>
  make('p', { class: 'muted', role: 'status' }, words);

export const makeFailure = (error: unknown): HTMLElement =>
  make('p', { class: 'note failed', role: 'alert' }, error instanceof Error ? error.message : String(error));

export const makeBlock = (text: string, attributes?: ElementAttributes): HTMLElement =>
  make('pre', { tabindex: '0', ...attributes }, text);

/** Null where the address is not that of a picture in itself. */
export const makePicture = (address: string, name: string): HTMLElement | null =>
  /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]*$/.test(address)
    ? make('figure', { class: 'picture' }, make('img', { src: address, alt: name }))
    : null;

/** It cannot be pressed twice while it works, and what goes wrong is said beside it. */
export function makeButton(
  label: string,
  act: (button: HTMLButtonElement) => unknown,
  attributes?: ElementAttributes,
): HTMLButtonElement {
  const button = make('button', { type: 'button', class: 'quiet small', ...attributes }, label);
  button.addEventListener('click', async () => {
    button.disabled = true;
    button.parentElement?.querySelector('.failed')?.remove();
    try {
      await act(button);
    } catch (error) {
      button.after(makeFailure(error));
    } finally {
      button.disabled = false;
    }
  });
  return button;
}

/** The head of a view: a title, and what is about it. */
export const makeViewHead = (
  title: string,
  about: ElementChild = null,
  ...more: ElementChild[]
): HTMLElement => make('header', { class: 'view-head' }, make('h1', {}, title), about, ...more);

export const joinFacts = (...facts: readonly string[]): string =>
  facts.filter((fact) => fact !== '').join(' · ');

export const describeSize = (bytes: unknown): string =>
  typeof bytes === 'number' && bytes >= 0 ? formatBytes(bytes) : '';

/** The call whose answer is shown. */
export interface ShownCall {
  readonly input: Untrusted;
  readonly content: unknown;
}

export interface ViewListeners {
  showInput?(input: Untrusted): void;
  showResult(data: Untrusted, call: ShownCall): unknown;
}

/** Shows what there is of an answer: its data by the view, or its text. */
export function startView(name: string, { showInput, showResult }: ViewListeners): void {
  let input: Untrusted = {};
  const listeners = {
    'tool-input'({ arguments: given }: Untrusted) {
      input = toObject(given);
      showInput?.(input);
    },
    'tool-cancelled': () => show(makeStatus('This call was cancelled.')),
    'tool-result'(result: Untrusted) {
      const [data, text] = [readData(result), toAnswerText(result)];
      if (result.isError === true) return show(makeFailure(text || 'This did not work.'));
      if (data !== null) return void showResult(data, { input, content: result.content });
      show(text === '' ? makeStatus('The answer has nothing that can be shown.') : makeBlock(text));
    },
  };
  host
    .start(name, listeners)
    .then(showWaiting, (error: Error) =>
      show(makeFailure(`${error.message} The text of the answer has everything.`)),
    );
}

function showWaiting(): void {
  const status = viewElement.querySelector('[role="status"]');
  if (status !== null) status.textContent = 'Waiting for the answer …';
}
