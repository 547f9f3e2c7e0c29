import { eventually } from '../../../src/platform/eventually.testing.ts';
import { openBrowser } from '../pages/browser.testing.ts';

/** A tab of a real browser, of which tests see what an expression says. */
export interface Tab extends AsyncDisposable {
  open(url: string): Promise<void>;
  /** The value of an expression in the page. */
  see(expression: string): Promise<unknown>;
  /** What a person does in the dialogue of a file field. */
  choose(selector: string, files: string[]): Promise<void>;
  click(selector: string): Promise<void>;
  /** Waits until an expression is true in the page. */
  until(expression: string): Promise<void>;
  /** What the page complained about, such as a breach of its own policy. */
  readonly complaints: string[];
}

export async function openTab(): Promise<Tab> {
  const browser = await openBrowser();
  const { page, complaints } = await browser.open();
  const see: Tab['see'] = (expression) => page.evaluate(expression);
  return {
    see,
    complaints,
    until: (expression) => eventually(async () => (await see(expression)) === true),
    open: async (url) => void (await page.goto(url)),
    choose: (selector, files) => page.setInputFiles(selector, files),
    click: (selector) => page.click(selector),
    [Symbol.asyncDispose]: () => browser[Symbol.asyncDispose](),
  };
}
