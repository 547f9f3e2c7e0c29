import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';

const injection = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;

describe('the page at /', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer({ sandbox: 'auto' }), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const run = async (code: string, more: Record<string, unknown> = {}) =>
    (await server.call('execute_code', { language: 'python', code, ...more })).data as {
      execution_id: string;
    };

  for (const [look, options] of [
    ['light', { colorScheme: 'light' }],
    ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ] as const)
    it(`shows runs, files, crates and how to connect (${look})`, async () => {
      const { page, complaints } = await browser.open(options);
      const { execution_id } = await run(
        `print(${JSON.stringify(injection)})\nopen('/artifacts/plot.txt', 'w').write('x')`,
      );
      for (const path of [
        '/',
        `/runs/${execution_id}`,
        `/runs/${execution_id}/graph`,
        '/documents',
        '/library',
        '/crates?query=walk',
        '/connect',
        `/?text=${encodeURIComponent(injection)}`,
      ]) {
        await page.goto(server.url + path);
        await page.locator('h1').waitFor();
        const width = await page.locator('body').evaluate((body) => body.scrollWidth);
        assert.ok(width <= page.viewportSize()!.width, `${path} is ${width} wide`);
        if (look !== 'without JavaScript') assert.deepEqual(await findBarriers(page), [], path);
      }
      assert.deepEqual(complaints, []);
    });

  it('shows what a run prints as it comes, and ends it', async () => {
    const { page, complaints } = await browser.open();
    const { execution_id } = await run(
      'import time\nprint("begun", flush=True)\ntime.sleep(2)\nprint("later", flush=True)\ntime.sleep(600)',
      {
        background: true,
      },
    );
    await page.goto(`${server.url}/runs/${execution_id}`);
    await page.locator('.live', { hasText: 'later' }).waitFor();
    await page.click('text=End this run');
    await page.locator('#state', { hasText: 'cancelled' }).waitFor();
    assert.match(await page.innerText('main'), /begun\s+later/);
    assert.deepEqual(complaints, []);
  });

  it('runs a run again, packs it and opens what it left, by keyboard alone', async () => {
    const { page } = await browser.open();
    const { execution_id } = await run("open('/artifacts/table.csv', 'w').write('a,b\\n1,2\\n')");
    await page.goto(`${server.url}/runs/${execution_id}`);
    await page.locator('text=Run again').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(execution_id));
    await eventually(
      async () => (await page.reload()) !== null && /\bok\b/.test(await page.innerText('#state')),
    );
    await page.locator('text=Pack as a crate').focus();
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'Packed as a crate' }).waitFor();
    await page.click('text=Download it');
    await page.waitForURL(/\/files\//);
    assert.match(await page.innerText('main'), /ZIP archive/);
    await page.goto(`${server.url}/library/artifacts`);
    await page.click('text=table.csv');
    await page.locator('td.number').first().waitFor();
  });

  it('does nothing for a form from elsewhere, or without its token', async () => {
    const { execution_id } = await run('import time; time.sleep(60)', { background: true });
    const url = `${server.url}/runs/${execution_id}/cancel`;
    const forms = [
      { body: new URLSearchParams({ token: 'x' }) },
      { body: new URLSearchParams() },
      { body: new URLSearchParams({ token: 'x' }), headers: { origin: 'https://elsewhere.example' } },
      { body: JSON.stringify({ token: 'x' }), headers: { 'content-type': 'application/json' } },
    ];
    for (const form of forms) {
      const { status } = await fetch(url, { method: 'POST', redirect: 'manual', ...form });
      assert.ok(status === 403 || status === 400, String(status));
    }
    const { data } = await server.call('get_execution', { execution_id });
    assert.equal(data.end_reason, 'running');
    await server.call('cancel_execution', { execution_id });
  });

  it('says in words that there is nothing at an address', async () => {
    const { page } = await browser.open();
    assert.equal((await page.goto(`${server.url}/nowhere`))?.status(), 404);
    assert.match(await page.innerText('main'), /There is nothing here/);
    assert.equal((await page.goto(`${server.url}/runs/exec_000000000000`))?.status(), 404);
    assert.match(await page.innerText('main'), /No execution of yours has this id/);
    const program = await fetch(`${server.url}/nowhere`);
    assert.match(program.headers.get('content-type')!, /json/);
  });
});
