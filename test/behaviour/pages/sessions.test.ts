import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';

const injection = `"'></pre><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">`;

describe('sessions on the page', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer({ sandbox: 'auto' }), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const run = async (session: string, code: string, more: Record<string, unknown> = {}) => {
    const asked = { language: 'python', session_id: session, code, ...more };
    const { failed, text, data } = await server.call('execute_code', asked);
    assert.ok(!failed, text);
    return data as { execution_id: string; session: { session_id: string } };
  };

  /** A session with a value, a table, an error and a checkpoint; its address. */
  async function prepare(name: string): Promise<string> {
    await run(name, `x = 41\nprint(${JSON.stringify(injection)})`);
    const table = `<table><thead><tr><th>n</th></tr></thead><tr><td>${injection}</td></tr></table>`;
    const html = table.replaceAll('<script>', '&lt;script&gt;');
    await run(name, `class Table:\n  def _repr_html_(self): return ${JSON.stringify(html)}\nTable()`);
    await server.call('manage_session', { session_id: name, action: 'checkpoint', name: 'clean' });
    const { session } = await run(name, 'x = 0; x + 1');
    await run(name, 'raise ValueError("no")');
    return `${server.url}/sessions/${session.session_id}`;
  }

  for (const [look, options] of [
    ['light', { colorScheme: 'light' }],
    ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ] as const)
    it(`shows a session as a notebook (${look})`, async () => {
      const address = await prepare(`study-${look.length}`);
      const { page, complaints } = await browser.open(options);
      for (const path of ['/sessions', new URL(address).pathname]) {
        await page.goto(server.url + path);
        const width = await page.locator('body').evaluate((body) => body.scrollWidth);
        assert.ok(width <= page.viewportSize()!.width, `${path} is ${width} wide`);
        if (look === 'without JavaScript') continue;
        assert.deepEqual(await findBarriers(page), [], path);
        assert.equal(await page.evaluate('window.hacked'), undefined);
      }
      assert.deepEqual(await page.locator('.notebook .mark').allInnerTexts(), ['[1]', '[2]', '[3]', '[4]']);
      const shown = await page.innerText('main');
      for (const part of [injection, 'ValueError: no', 'Checkpoint clean, after cell 2'])
        assert.ok(shown.includes(part), part);
      assert.ok(await page.locator('.hl-keyword', { hasText: 'raise' }).isVisible());
      assert.deepEqual(complaints, []);
      await server.call('close_session', { session_id: new URL(address).pathname.split('/').at(-1) });
    });

  it('goes back, forks, saves, exports and closes, by keyboard alone', async () => {
    const address = await prepare('steps');
    const { page, complaints } = await browser.open();
    await page.goto(address);
    const press = async (name: string): Promise<void> => {
      await page.getByRole('button', { name, exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    await press('Go back to clean');
    await page.locator('.undone').first().waitFor();
    assert.equal(await page.locator('.undone').count(), 2);
    const { data } = await server.call('execute_code', {
      language: 'python',
      session_id: 'steps',
      code: 'x',
    });
    assert.equal(data.results[0].text, '41');
    await page.getByLabel('Name of the checkpoint').focus();
    await page.keyboard.type('second');
    await page.keyboard.press('Enter');
    await page.locator('#checkpoint-second').waitFor();
    await page.getByLabel('Name of the new session').focus();
    await page.keyboard.type('branch');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'branch' }).waitFor();
    assert.match(await page.innerText('main'), /Forked from steps after cell 5/);
    await page.click('text=steps');
    await page.getByText('Forked into branch after cell 5').waitFor();
    await press('Open as .ipynb');
    await page.waitForURL(/\/files\//);
    await page.locator('.cell').first().waitFor();
    await page.goto(address);
    await press('Close');
    await page.locator('.state', { hasText: 'closed' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Close' }).count(), 0);
    assert.equal(await page.locator('.cell').count(), 5);
    assert.deepEqual(complaints, []);
  });

  it('shows a cell that begins, what it prints, and how it was interrupted, without a reload', async () => {
    const address = await prepare('live');
    const { page, complaints } = await browser.open();
    await page.goto(address);
    await page.locator('.cell').nth(3).waitFor();
    await page.evaluate('window.stayed = 1');
    const { execution_id } = await run('live', 'import time\nprint("first", flush=True)\ntime.sleep(600)', {
      background: true,
    });
    await page.locator(`#${execution_id} .live .stdout`, { hasText: 'first' }).waitFor();
    await server.call('manage_session', { session_id: 'live', action: 'interrupt' });
    await page.locator(`#${execution_id} .state.bad`).waitFor();
    assert.match(await page.innerText(`#${execution_id}`), /KeyboardInterrupt/);
    assert.equal(await page.evaluate('window.stayed'), 1);
    assert.deepEqual(complaints, []);
    recordProof('G1:sessions-as-notebooks');
  });

  it('says in words what cannot be done', async () => {
    const address = await prepare('words');
    const { page } = await browser.open();
    assert.equal((await page.goto(`${server.url}/sessions/sess_000000000000`))?.status(), 404);
    assert.match(await page.innerText('main'), /No session/i);
    await page.goto(address);
    await server.call('close_session', { session_id: 'words' });
    await page.getByRole('button', { name: 'Go back to clean' }).click();
    await page.getByText('This did not work').waitFor();
    assert.match(await page.innerText('main'), /closed|ended/);
  });
});
