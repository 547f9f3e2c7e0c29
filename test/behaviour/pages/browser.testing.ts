import { spawnSync } from 'node:child_process';
import axe from 'axe-core';
import { chromium, type BrowserContextOptions, type Page } from 'playwright-core';

const program = ['chromium', 'chromium-browser', 'google-chrome']
  .map((name) => spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim())
  .find((path) => path !== '');

export const noBrowser: string | false =
  program === undefined ? 'there is no chromium here: apt-get install chromium' : false;

const flags = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Nothing but this machine is looked up.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE 127.0.0.2',
];

export interface OpenBrowser extends AsyncDisposable {
  /** A page in a context of its own. What it complains about, such as a breach of its policy, is in `complaints`. */
  open(options?: BrowserContextOptions): Promise<{ readonly page: Page; readonly complaints: string[] }>;
}

/** A real browser. Its own sandbox does not start for root. */
export async function openBrowser(): Promise<OpenBrowser> {
  const browser = await chromium.launch({
    executablePath: program!,
    args: flags,
    chromiumSandbox: process.getuid?.() !== 0,
  });
  return {
    async open(options = {}) {
      const page = await (await browser.newContext(options)).newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      return { page, complaints };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** What axe-core finds serious or critical, as texts; it is put into the page by the browser, past the page's policy. */
export async function findBarriers(page: Pick<Page, 'evaluate'>): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run(document)');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
