import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { auditOf } from '../audit/lines.testing.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';
import { injections } from './crates.testing.ts';

describe('documents on the page', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer(), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const result = (page: Page): Promise<string> => page.innerText('.outcome');

  const countBuilds = (): number =>
    auditOf(server.data).filter((line) => JSON.stringify(line).includes('build_exports_content')).length;

  async function demandGoodLook(page: Page, look: string): Promise<void> {
    const width = await page.locator('body').evaluate((body) => body.scrollWidth);
    assert.ok(width <= page.viewportSize()!.width, `it is ${width} wide`);
    if (look !== 'without JavaScript') assert.deepEqual(await findBarriers(page), []);
  }

  for (const [look, options] of [
    ['light', { colorScheme: 'light' }],
    ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ] as const)
    it(`are built from the example and shown as a PDF, in all formats asked for (${look})`, async () => {
      const { page, complaints } = await browser.open(options);
      await page.goto(`${server.url}/documents`);
      await demandGoodLook(page, look);
      await page.check('text=Word');
      await page.click('text=Build');
      await page.locator('text=document.docx').waitFor();
      await eventually(() => page.frames().length > 1);
      assert.match((await page.getAttribute('iframe', 'src'))!, /^\/files\/[\w-]+\?preview=1#/);
      await demandGoodLook(page, look);
      assert.match(await page.inputValue('#text'), /^---\ntitle: The pendulum\n[^]*# References\n$/);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.click('[aria-label="Download document.pdf"]'),
      ]);
      assert.match(await readFile(await download.path(), 'latin1'), /^%PDF-/);
      assert.deepEqual(complaints, []);
    });

  it('are written, built and downloaded by keyboard alone', async () => {
    const { page } = await browser.open();
    await page.goto(`${server.url}/documents?empty`);
    await page.locator('#text').focus();
    await page.keyboard.type('# Mine');
    await page.locator('#name').focus();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('mine');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('a', { hasText: 'mine.pdf' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/files\//);
    assert.match(await page.innerText('h1'), /mine\.pdf/);
  });

  it('are kept where they cannot be built, with the line that is wrong', async () => {
    const { page, complaints } = await browser.open();
    await page.goto(`${server.url}/documents?empty`);
    const text = `\n  indented\n\nfine\n\n${'['.repeat(9)}x${']'.repeat(9)}\n\nafter & <b>\n`;
    await page.fill('#text', text);
    await page.click('summary');
    await page.fill('#bibliography', '@book{a, title={B}}');
    await page.fill('#name', 'report');
    await page.click('text=Build');
    await page.locator('[role=alert]').waitFor();
    assert.match(await result(page), /Your text is as it was\.[^]*line 6/);
    assert.match(await page.innerText('.outcome mark'), /6 {2}\[{9}x/);
    assert.equal(await page.inputValue('#text'), text);
    assert.equal(await page.inputValue('#bibliography'), '@book{a, title={B}}');
    assert.equal(await page.inputValue('#name'), 'report');
    await page.uncheck('text=PDF');
    await page.click('text=Build');
    assert.match(await result(page), /formats/);
    assert.equal(await page.inputValue('#text'), text);
    assert.deepEqual(complaints, []);
  });

  it('have their citations checked, with the line and what may be meant', async () => {
    const { page } = await browser.open();
    await page.goto(`${server.url}/documents?empty`);
    await page.fill('#text', 'One.\n\nTwo [@huygens1763] and [@huygens1763].\n');
    await page.click('summary');
    await page.fill('#bibliography', '@book{huygens1673, title={Horologium}}\n@book{other, title={Other}}');
    await page.click('text=Check citations');
    const words = await result(page);
    assert.match(words, /Some keys have no entry/);
    assert.match(
      words,
      /huygens1763 in line 3 has no entry, and is cited 2 times\.\s+Did you mean huygens1673\?/,
    );
    assert.match(words, /Not cited: .*other/);
    assert.equal(await page.inputValue('#text'), 'One.\n\nTwo [@huygens1763] and [@huygens1763].\n');
  });

  it('run nothing that is in a text, a bibliography, a name or a format', async () => {
    const { page, complaints } = await browser.open();
    page.on('dialog', () => assert.fail('something ran'));
    for (const injection of injections) {
      await page.goto(`${server.url}/documents?empty`);
      await page.fill('#text', `${injection} [@${injection}]\n\n![${injection}](${injection})`);
      await page.click('summary');
      await page.fill('#bibliography', `@book{x, title={${injection}}}`);
      await page.fill('#name', injection.slice(0, 100));
      for (const button of ['Build', 'Check citations']) {
        await page.click(`text=${button}`);
        await page.locator('.outcome [role]').first().waitFor();
        const bad = 'main script, main [onerror], main [onload], main svg, main img';
        assert.equal(await page.locator(bad).count(), 0, injection);
        assert.equal(await page.inputValue('#name'), injection);
        assert.deepEqual(await findBarriers(page), []);
      }
    }
    assert.deepEqual(complaints, []);
  });

  it('may be long, and are refused in words where they are too long', async () => {
    const { page } = await browser.open();
    await page.goto(`${server.url}/documents?empty`);
    const text = 'A line of some words, again and again.\n\n'.repeat(3000);
    await page.locator('#text').evaluate((area: { value?: string }, typed) => {
      area.value = typed;
    }, text);
    await page.uncheck('text=PDF');
    await page.check('text=Plain text');
    await page.click('text=Build');
    await page.locator('text=document.txt').waitFor();
    assert.equal((await page.inputValue('#text')).length, text.length);
    const body = new URLSearchParams({ text: 'x'.repeat(13 * 1024 ** 2) });
    const response = await fetch(`${server.url}/documents`, { method: 'POST', body });
    assert.equal(response.status, 413);
    assert.match(await response.text(), /at most 12 MB are taken\. Your browser still has what you typed/);
  });

  it('are not built for a form from elsewhere or too old a page, but not lost', async () => {
    const before = countBuilds();
    assert.ok(before > 0, 'builds are counted');
    const body = new URLSearchParams({ text: 'My <b>words', token: 'x', formats: 'pdf', act: 'build' });
    const response = await fetch(`${server.url}/documents`, { method: 'POST', body });
    const page = await response.text();
    assert.match(page, /Load the page again/);
    assert.match(page, /My &lt;b&gt;words/);
    assert.doesNotMatch(page, /\/files\//);
    const foreign = { origin: 'https://elsewhere.example' };
    const refused = await fetch(`${server.url}/documents`, { method: 'POST', body, headers: foreign });
    assert.equal(refused.status, 403);
    assert.equal(countBuilds(), before);
    recordProof('G1:documents');
  });
});
