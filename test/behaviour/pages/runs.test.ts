import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { BrowserContextOptions } from 'playwright-core';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';

const injections = [
  `"'><script>window.hacked = 1</script>`,
  `<img src=x onerror="window.hacked = 1">`,
  `</pre></code></span><svg onload="window.hacked = 1">`,
  `javascript:window.hacked=1`,
  `{{constructor.constructor('window.hacked = 1')()}}`,
];

const looks: readonly (readonly [string, BrowserContextOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
  ['without JavaScript', { javaScriptEnabled: false }],
];

describe('runs on the page', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer({ sandbox: 'auto' }), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const run = async (code: string, more: Record<string, unknown> = {}): Promise<{ execution_id: string }> => {
    const { failed, text, data } = await server.call('execute_code', { language: 'python', code, ...more });
    assert.ok(!failed, text);
    return data;
  };

  /** Every run of the tests is `hostile`, unless it has to be something else. */
  const hostile = `import sys, base64
print(${JSON.stringify(injections.join('\n'))})
print(${JSON.stringify(injections.join('\n'))}, file=sys.stderr)
open('/artifacts/' + ${JSON.stringify(injections[1]!.replaceAll('/', ''))} + '.svg', 'w').write(
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>parent.hacked = 1</script><rect width="9" height="9"/></svg>')
open('/tmp/' + ${JSON.stringify(injections[0]!.replaceAll('/', ''))}, 'w').write('x')
class Table:
  def _repr_html_(self): return '<table><tr><td>' + ${JSON.stringify(injections[0])} + '</td></tr></table>'
Table()`;

  for (const [look, options] of looks)
    it(`shows runs and a run, whatever they are called and print (${look})`, async () => {
      const { execution_id } = await run(hostile);
      const { page, complaints } = await browser.open(options);
      for (const path of ['/', `/runs/${execution_id}`]) {
        await page.goto(server.url + path);
        const width = await page.locator('body').evaluate((body) => body.scrollWidth);
        assert.ok(width <= page.viewportSize()!.width, `${path} is ${width} wide`);
        if (look === 'without JavaScript') continue;
        assert.deepEqual(await findBarriers(page), [], path);
        assert.equal(await page.evaluate('window.hacked'), undefined);
      }
      const shown = await page.innerText('main');
      for (const part of [
        'Output',
        'Errors',
        'Files after',
        'Not kept',
        'Limits',
        'bubblewrap',
        injections[0]!,
      ])
        assert.ok(shown.includes(part), part);
      const picture = page.locator('.gallery img');
      await picture.scrollIntoViewIfNeeded();
      await eventually(
        async () =>
          (await picture.evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth)) === 9,
      );
      assert.ok(await page.locator('.hl-keyword', { hasText: 'import' }).first().isVisible());
      assert.deepEqual(complaints, []);
    });

  it('shows a picture that runs no script, even where it is opened by itself', async () => {
    const { execution_id } = await run(
      `open('/artifacts/evil.svg', 'w').write('<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "hacked"</script></svg>')
open('/artifacts/none.png', 'w').write('<script>alert(1)</script>')`,
    );
    const { page } = await browser.open();
    await page.goto(`${server.url}/runs/${execution_id}/pictures/evil.svg`);
    assert.equal(await page.title(), '');
    const none = await fetch(`${server.url}/runs/${execution_id}/pictures/none.png`);
    assert.equal(none.status, 404);
    for (const path of ['results/0/0', 'results/x/y', 'pictures/..%2f..%2fetc%2fpasswd'])
      assert.ok((await fetch(`${server.url}/runs/${execution_id}/${path}`)).status >= 400, path);
  });

  it('shows and gives a file as the run left it, whatever has its name now, and packs it with its notes', async () => {
    const svg = (text: string): string =>
      `<svg xmlns="http://www.w3.org/2000/svg"><text>${text}</text></svg>`;
    const write = (text: string) =>
      run(
        `open('/artifacts/plot.svg', 'w').write('${svg(text)}'); open('/artifacts/.hidden', 'w').write('x')`,
      );
    const [first, second] = [await write('first'), await write('second')];
    for (const [{ execution_id }, text] of [
      [first, 'first'],
      [second, 'second'],
    ] as const)
      for (const path of ['pictures/plot.svg', 'made?path=/artifacts/plot.svg']) {
        const answer = await fetch(`${server.url}/runs/${execution_id}/${path}`);
        assert.equal(await answer.text(), svg(text));
        if (path.startsWith('made')) assert.match(answer.headers.get('content-disposition')!, /^attachment/);
      }
    const unknown = await fetch(`${server.url}/runs/${first.execution_id}/made?path=/artifacts/none`);
    assert.equal(unknown.status, 404);
    const { page } = await browser.open();
    await page.goto(`${server.url}/runs/${first.execution_id}`);
    assert.match(await page.innerText('main'), /not kept: hidden files are not kept/);
    await page.locator('text=Pack as a crate').click();
    await page.locator('h1', { hasText: 'Packed as a crate' }).waitFor();
    assert.match(await page.innerText('main'), /Described, but not in the crate: "artifacts\/\.hidden"/);
    await page.locator('text=Look into the crate').click();
    assert.match(await page.innerText('main'), /plot\.svg/);
  });

  it('lists new runs and their ends without a reload, in two tabs, and filters', async () => {
    const tabs = [await browser.open(), await browser.open()];
    for (const { page } of tabs) await page.goto(server.url);
    const { execution_id } = await run('print("a needle")\nimport time; time.sleep(2)', { background: true });
    for (const state of ['going', 'good'])
      await Promise.all(tabs.map(({ page }) => page.locator(`#${execution_id} .${state}`).waitFor()));
    const { page } = tabs[0]!;
    const [today, longAgo] = [new Date().toISOString().slice(0, 10), '2020-01-01'];
    const isFound = async (query: string): Promise<boolean> => {
      await page.goto(`${server.url}/?${query}`);
      return page.locator(`#${execution_id}`).isVisible();
    };
    assert.equal(await isFound('text=needle'), true);
    assert.equal(await isFound(`text=needle&language=python&status=ok&since=${today}&until=${today}`), true);
    assert.equal(await isFound('text=needle&language=node'), false);
    assert.equal(await isFound(`text=needle&until=${longAgo}`), false);
    assert.equal(await isFound(`text=needle&status=failed`), false);
    await page.goto(`${server.url}/?since=yesterday`);
    assert.match(await page.innerText('main'), /give a time such as/);
    recordProof('G1:runs-live');
  });

  it('tells output and errors apart as they are printed', async () => {
    const { execution_id } = await run(
      'import sys, time\nprint("fine", flush=True)\nprint("careful", file=sys.stderr, flush=True)\ntime.sleep(600)',
      { background: true },
    );
    const { page, complaints } = await browser.open();
    await page.goto(`${server.url}/runs/${execution_id}`);
    await page.locator('.live .stdout', { hasText: 'fine' }).waitFor();
    await page.locator('.live .stderr', { hasText: 'careful' }).waitFor();
    await page.locator('text=End this run').focus();
    await page.keyboard.press('Enter');
    await page.locator('#state', { hasText: 'cancelled' }).waitFor();
    assert.match(await page.innerText('main'), /Cancelled after [\d.]+ m?s by cancel_execution/);
    assert.deepEqual(complaints, []);
  });

  it('keeps little of a run that prints without end, and the browser answers', async () => {
    const { execution_id } = await run(
      'import sys, time\nend = time.time() + 12\nwhile time.time() < end:\n  sys.stdout.write("all work and no play\\n" * 20000); sys.stdout.flush(); time.sleep(0.01)',
      { background: true },
    );
    const { page, complaints } = await browser.open();
    await page.goto(`${server.url}/runs/${execution_id}`);
    await page.locator('.live .passed').first().waitFor();
    const shown = await page
      .locator('.live')
      .evaluate((live) => [live.textContent.length, live.children.length]);
    assert.ok(shown[0]! < 250_000 && shown[1]! < 500, String(shown));
    await page.locator('text=Open all of it').waitFor();
    assert.deepEqual(complaints, []);
  });

  it('goes on by itself when the server was started again', async () => {
    const { execution_id } = await run('import time\nprint("begun", flush=True)\ntime.sleep(600)', {
      background: true,
    });
    const [one, list] = [await browser.open(), await browser.open()];
    await one.page.goto(`${server.url}/runs/${execution_id}`);
    await list.page.goto(server.url);
    await one.page.locator('.live', { hasText: 'begun' }).waitFor();
    await server.restart();
    await one.page.locator('#state', { hasText: 'cancelled' }).waitFor();
    assert.match(await one.page.innerText('main'), /the server stopped/);
    const next = await run('print("after")');
    await list.page.locator(`#${next.execution_id}`).waitFor();
    await list.page.locator('#connection').waitFor({ state: 'hidden' });
  });

  it('runs a run again with its files, and says in words where they are gone', async () => {
    const file = await upload(server, 'numbers.csv', '1,2,3\n');
    const { execution_id } = await run('print(open("numbers.csv").read())', { files: [file] });
    const { page } = await browser.open();
    await page.goto(`${server.url}/runs/${execution_id}`);
    assert.match(await page.innerText('main'), /Files before[^]*numbers\.csv[^]*6 bytes/);
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(execution_id));
    await page.locator('#state .good').waitFor();
    assert.match(await page.innerText('main'), /1,2,3/);
    await server.call('delete_file', { file_id: file });
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.getByText(/No file of yours has the id/).waitFor();
    await page.goto(`${server.url}/runs/${execution_id}`);
    await page.getByRole('button', { name: 'Run again without its files' }).click();
    await page.locator('#state .bad').waitFor();
  });

  it('pages through 10,000 runs both ways, with as many elements on each page', async () => {
    await using database = toDisposable(await openDatabase(getDatabaseLocation(server.config)));
    const [row] = await database.query('SELECT * FROM executions LIMIT 1');
    const columns = Object.keys(row!);
    await database.transaction(async (tx) => {
      for (let n = 0; n < 10_000; n++) {
        const values = {
          ...row,
          id: `exec_f${n.toString(16).padStart(11, '0')}`,
          started_at: 1e12 + n * 1000,
        };
        await tx.query(
          `INSERT INTO executions (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
          ...Object.values(values),
        );
      }
    });
    const { page, complaints } = await browser.open();
    await page.goto(`${server.url}/?until=2001-12-31`);
    const read = async () => ({
      ids: await page.locator('.runs li').evaluateAll((rows) => rows.map(({ id }) => id)),
      elements: await page.evaluate<number>('document.querySelectorAll("*").length'),
    });
    const go = async (rel: string): Promise<void> => {
      await page.click(`a[rel=${rel}]`);
      await page.locator('h1').waitFor();
    };
    const pages = [await read()];
    for (let n = 0; n < 5; n++) {
      await go('next');
      pages.push(await read());
    }
    assert.equal(new Set(pages.flatMap(({ ids }) => ids)).size, 300);
    assert.ok(Math.max(...pages.map(({ elements }) => elements)) < 1000);
    for (let n = 4; n >= 1; n--) {
      await go('prev');
      assert.deepEqual((await read()).ids, pages[n]!.ids, String(n));
    }
    await go('prev');
    assert.deepEqual((await read()).ids, pages[0]!.ids);
    assert.equal(await page.locator('a[rel=prev]').count(), 0);
    assert.deepEqual(complaints, []);
    recordProof('G1:any-number-of-runs');
  });

  it('has a first page of at most 100 KB, and needs no other file', async () => {
    const { page } = await browser.open();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(server.url);
    await eventually(async () => asked.includes('/runs/live'));
    assert.deepEqual([...new Set(asked)].toSorted(), ['/', '/runs/live']);
    assert.ok((await (await fetch(server.url, { headers: asPerson })).text()).length < 100 * 1024);
  });
});

const asPerson = { accept: 'text/html', 'upgrade-insecure-requests': '1' };

const toDisposable = <T extends { close(): Promise<void> }>(open: T): T & AsyncDisposable =>
  Object.assign(open, { [Symbol.asyncDispose]: () => open.close() });
