import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A picture of one pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const notebook = JSON.stringify({
  cells: [
    { cell_type: 'markdown', source: '# A walk' },
    {
      cell_type: 'code',
      execution_count: 1,
      source: 'print(6 * 7)',
      outputs: [{ output_type: 'stream', text: '42\n' }],
    },
  ],
});

const shownFiles = [
  ['plot.png', pixel, 'figure img'],
  ['table.csv', 'name,value\n"Ada, B.",1815\n', 'tbody td.number'],
  ['notes.md', '# Notes\n\nSome *words*.\n', 'h2:text("Notes")'],
  ['walk.ipynb', notebook, 'pre.output:text("42")'],
  ['run.py', 'print("<b>hi</b>")\n', 'figure pre'],
  ['page.html', '<h1>Inside</h1>', 'iframe[sandbox]'],
  [
    'drawing.svg',
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    'img',
  ],
  ['sound.wav', makeSilence(), 'audio'],
] as const;

/** A tenth of a second. */
function makeSilence(): Buffer {
  const [head, samples] = [Buffer.alloc(44), Buffer.alloc(1600)];
  head.write('RIFF');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    head.writeUInt16LE(value, at);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(16_000, 28);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

describe('links in a browser', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer(), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  async function share(name: string, content: string | Buffer, more: Record<string, unknown> = {}) {
    const { data } = await server.call('share_file', {
      file_id: await upload(server, name, content as string),
      ...more,
    });
    return data as { downloadUrl: string; token: string };
  }
  const countDownloads = async (token: string): Promise<number> =>
    (await server.call('link_status', { token })).data.downloads as number;

  for (const [look, options] of [
    ['light', { colorScheme: 'light', viewport: { width: 1200, height: 900 } }],
    ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ] as const)
    it(`show what a file is and what is in it (${look})`, async () => {
      const { page, complaints } = await browser.open(options);
      for (const [name, content, selector] of shownFiles) {
        const { downloadUrl, token } = await share(name, content);
        await page.goto(downloadUrl);
        assert.equal(await page.title(), name);
        const words = await page.innerText('main');
        assert.ok(words.includes(sha256(content)), words);
        assert.match(words, /until \d+ \w+ \d{4} at \d\d:\d\d UTC/);
        await page.locator(selector).first().waitFor();
        const width = await page.locator('body').evaluate((body) => body.scrollWidth);
        assert.ok(width <= page.viewportSize()!.width, `${name} is ${width} wide`);
        if (look !== 'without JavaScript') assert.deepEqual(await findBarriers(page), [], name);
        assert.equal(await countDownloads(token), 0, 'a page is no download');
      }
      assert.deepEqual(complaints, []);
      recordProof(
        'C14:name-size-sha256-and-time',
        'C14:preview-of-pictures-text-and-tables',
        'C14:a-page-never-uses-a-link-up',
      );
    });

  it('show a PDF in a frame, which the browser itself renders', async () => {
    const { page, complaints } = await browser.open();
    const pdf = await readFile(join(import.meta.dirname, '../../../fixtures/pages/one-page.pdf'));
    await page.goto((await share('paper.pdf', pdf)).downloadUrl);
    await eventually(() => page.frames().length > 1);
    const frame = await fetch(`${page.url()}?preview=1`);
    assert.deepEqual(Buffer.from(await frame.arrayBuffer()), pdf);
    assert.match(frame.headers.get('content-disposition')!, /^inline/);
    assert.deepEqual(complaints, []);
    recordProof('C14:preview-of-pdf');
  });

  it('have a button that downloads the very bytes', async () => {
    const { page } = await browser.open();
    const bytes = randomBytes(100_000);
    const { downloadUrl, token } = await share('data.bin', bytes);
    await page.goto(downloadUrl);
    await page.keyboard.press('Tab');
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
    assert.equal(download.suggestedFilename(), 'data.bin');
    assert.deepEqual(await readFile(await download.path()), bytes);
    await eventually(async () => (await countDownloads(token)) === 1);
    recordProof('C14:download-button');
  });

  it('that work once have no preview, and are used up by the button alone', async () => {
    const { page } = await browser.open();
    const { downloadUrl } = await share('once.png', pixel, { single_use: true });
    for (let looks = 0; looks < 3; looks++) await page.goto(downloadUrl);
    assert.match(await page.innerText('main'), /works once/);
    assert.equal(await page.locator('.preview').count(), 0);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a.button')]);
    assert.deepEqual(await readFile(await download.path()), pixel);
    const used = await page.goto(downloadUrl);
    assert.equal(used?.status(), 404);
    assert.match(await page.innerText('main'), /This link does not work[^]*expired, was used or withdrawn/);
    assert.deepEqual(await findBarriers(page), []);
    recordProof('C14:single-use-has-no-preview', 'C14:an-ended-link-says-so-in-words');
  });

  it('give programs bytes, whatever they say that they take', async () => {
    const { downloadUrl } = await share('table.csv', 'a,b\n1,2\n');
    for (const accept of ['*/*', 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 'text/csv', '']) {
      const answer = await fetch(downloadUrl, { headers: accept === '' ? {} : { accept } });
      assert.equal(await answer.text(), 'a,b\n1,2\n', accept);
    }
    const gone = await fetch(`${server.url}/files/${'a'.repeat(43)}`);
    assert.equal(((await gone.json()) as { code: string }).code, 'link_not_found');
    recordProof('C14:programs-get-bytes-as-before');
  });

  it('run nothing that a user stored, on a page, in a frame or opened by itself', async () => {
    const { page } = await browser.open();
    const script = 'document.title = "stolen"; parent.document.title = "stolen"; alert(1)';
    const hostile = {
      'evil.html': `<script>${script}</script><img src=x onerror='${script}'>`,
      'evil.svg': `<svg xmlns="http://www.w3.org/2000/svg" onload='${script}'><script>${script}</script></svg>`,
      'evil.xhtml': `<html xmlns="http://www.w3.org/1999/xhtml"><script>${script}</script></html>`,
      'evil.md': `<script>${script}</script>\n\n[x](javascript:alert(1))`,
      '"><script>alert(1)</script>.txt': `</pre><script>${script}</script>`,
    };
    let dialogs = 0;
    page.on('dialog', (dialog) => {
      dialogs++;
      void dialog.dismiss();
    });
    for (const [name, content] of Object.entries(hostile)) {
      const { downloadUrl } = await share(name, content);
      for (const url of [downloadUrl, `${downloadUrl}?preview=1`]) {
        // What is no picture and no page is a download there.
        await page.goto(url).catch((error: unknown) => assert.match(String(error), /Download is starting/));
        assert.notEqual(await page.title(), 'stolen', `${name} at ${url}`);
      }
    }
    assert.equal(dialogs, 0);
    recordProof('C14:nothing-stored-runs-on-this-origin');
  });
});

describe('uploads in a browser', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer(), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const waitForEnd = (page: Page): Promise<void> =>
    page.locator('output', { hasText: /^(?:Sent|Not sent)/ }).waitFor();

  it('show a form that sends a file, goes on after a lost connection, and says when it has arrived', async () => {
    const { page, complaints } = await browser.open();
    const { data } = await server.call('request_upload', { filename: 'data.bin' });
    await page.goto(data.uploadUrl);
    assert.match(await page.innerText('main'), /Send data\.bin/);
    assert.deepEqual(await findBarriers(page), []);
    const bytes = randomBytes(20_000_000);
    await page.setInputFiles('input[type=file]', {
      name: 'data.bin',
      mimeType: 'application/octet-stream',
      buffer: bytes,
    });
    // The second piece is lost on its way.
    let pieces = 0;
    await page.route(data.uploadUrl, async (route) => {
      if (route.request().method() === 'PATCH' && ++pieces === 2) return route.abort('connectionreset');
      return route.continue();
    });
    await page.click('.send');
    await waitForEnd(page);
    const said = await page.evaluate("document.querySelector('output').value");
    assert.equal(said, `Sent. You can close this page. SHA-256: ${sha256(bytes)}`);
    assert.ok(pieces > 3, 'it was sent in pieces, one of them twice');
    await page.unroute(data.uploadUrl);
    await page.goto(data.uploadUrl);
    assert.match(await page.innerText('main'), /data\.bin has arrived/);
    assert.deepEqual(
      complaints.filter((text) => !text.includes('ERR_CONNECTION_RESET')),
      [],
    );
    recordProof('C14:upload-form-with-progress');
  });

  it('refuse in words what is too much, and an address that ended', async () => {
    const { page } = await browser.open();
    const { data } = await server.call('request_upload', { filename: 'small.txt', size: 3 });
    await page.goto(data.uploadUrl);
    await page.setInputFiles('input[type=file]', {
      name: 'small.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('12345'),
    });
    await page.click('.send');
    await waitForEnd(page);
    assert.match(await page.innerText('main'), /Not sent: .*3 bytes/);
    const gone = await page.goto(`${server.url}/uploads/${'a'.repeat(43)}`);
    assert.equal(gone?.status(), 404);
    assert.match(await page.innerText('main'), /Nothing can be sent here/);
  });
});
