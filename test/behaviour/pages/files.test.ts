import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import jsqr from 'jsqr';
import type { Page } from 'playwright-core';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { send, startTeam } from '../users/team.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';
import { hostileFiles, makeHugePicture } from './hostile-files.testing.ts';

/** The package is CommonJS: its default export has the function as its own default. */
const decodeQr = jsqr as unknown as typeof jsqr.default;

describe('files on the page', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer({ sandbox: 'auto' }), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const leave = (name: string, text: string): Promise<unknown> =>
    server.call('execute_code', {
      language: 'python',
      code: `open('/artifacts/' + ${JSON.stringify(name)}, 'w').write(${JSON.stringify(text)})`,
    });

  for (const [look, options] of [
    ['light', { colorScheme: 'light' }],
    ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ] as const)
    it(`shows files, artifacts and links with previews (${look})`, async () => {
      const { page, complaints } = await browser.open(options);
      const id = await upload(
        server,
        'a table with a rather long name of its own.csv',
        'name,value\nAda,1815\n',
      );
      await server.call('share_file', { file_id: id, single_use: true });
      await leave('notes.md', '# Noted\n');
      const { uploadUrl } = (await server.call('request_upload', { filename: 'photos', max_files: 3 })).data;
      for (const [url, selector] of [
        ['/library', `a[href="/library/${id}"]`],
        [`/library/${id}`, 'td.number:text("1815")'],
        [`/library/${id}/delete`, 'button.danger'],
        ['/library/links', 'text=works once'],
        ['/library/artifacts', 'text=notes.md'],
        ['/library/artifact?name=notes.md', '.prose h2:text("Noted")'],
        [new URL(uploadUrl).pathname, 'input[type=file]:visible'],
      ] as const) {
        await page.goto(server.url + url);
        await page.locator(selector).first().waitFor();
        const width = await page.locator('body').evaluate((body) => body.scrollWidth);
        assert.ok(width <= page.viewportSize()!.width, `${url} is ${width} wide`);
        if (look !== 'without JavaScript') assert.deepEqual(await findBarriers(page), [], url);
      }
      assert.deepEqual(complaints, []);
      if (look === 'without JavaScript') recordProof('G1:files-with-previews');
    });

  it('shares a file with a QR code that a phone reads, and revokes the link, by keyboard alone', async () => {
    const { page, complaints } = await browser.open();
    const id = await upload(server, 'shared.txt', 'for you');
    await page.goto(`${server.url}/library`);
    await page.locator(`a[href="/library/${id}"]`).focus();
    await page.keyboard.press('Enter');
    await page.locator('select[name=seconds]').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const url = await page.locator('.copy input').inputValue();
    assert.equal(await (await fetch(url)).text(), 'for you');
    assert.equal(await readQr(page), url);
    assert.deepEqual(await findBarriers(page), []);
    const until = Date.parse((await page.locator('.made time').getAttribute('datetime'))!);
    assert.ok(until > Date.now() + 23 * 3_600_000, 'a day was chosen');
    await page.goto(`${server.url}/library/${id}`);
    assert.equal(await page.locator('main').getByText(new URL(url).pathname).count(), 0);
    assert.match(await page.innerText('tbody tr'), /active.*\b1\b/s);
    await page.getByRole('button', { name: /^Revoke the link to shared\.txt/ }).focus();
    await page.keyboard.press('Enter');
    await page.locator('tbody .state', { hasText: 'revoked' }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/library/${id}`);
    assert.equal((await fetch(url)).status, 404);
    assert.deepEqual(complaints, []);
    recordProof('G1:links-with-revoke');
  });

  it('shares an artifact, once', async () => {
    const { page } = await browser.open();
    await leave('plot 1%+&.txt', 'drawn');
    await page.goto(`${server.url}/library/artifacts`);
    await page.click('text=plot 1%+&.txt');
    assert.match(await page.innerText('.preview'), /drawn/);
    const [saved] = await Promise.all([page.waitForEvent('download'), page.click('text=Download')]);
    assert.equal(await readFile(await saved.path(), 'utf8'), 'drawn');
    await page.check('input[name=once]');
    await page.click('button:text("Share")');
    const url = await page.locator('.copy input').inputValue();
    assert.match(await page.innerText('main'), /for one download/);
    assert.equal(await (await fetch(url)).text(), 'drawn');
    assert.equal((await fetch(url)).status, 404);
  });

  it('runs nothing of what is stored, and shows no picture, table or PDF that a browser cannot take', async () => {
    const { page } = await browser.open();
    let dialogs = 0;
    page.on('dialog', (dialog) => {
      dialogs++;
      void dialog.dismiss();
    });
    for (const [name, content] of hostileFiles) {
      const id = await upload(server, name, content);
      for (const path of ['/library', `/library/${id}`, `/library/${id}/content`, `/library/${id}/delete`]) {
        await page
          .goto(server.url + path)
          .catch((error: unknown) => assert.match(String(error), /Download is starting/));
        assert.doesNotMatch(await page.title(), /stolen/, `${name} at ${path}`);
        assert.equal(await page.evaluate('typeof stolen'), 'undefined', `${name} at ${path}`);
      }
      const { headers } = await fetch(`${server.url}/library/${id}/content`);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.match(
        `${headers.get('content-disposition')} ${headers.get('content-security-policy')}`,
        /^attachment|sandbox;|^inline.*frame-ancestors 'self'/,
      );
    }
    assert.equal(dialogs, 0);
    const columns = Array.from({ length: 10_000 }, (_, at) => `c${at}`).join();
    for (const [name, content, words] of [
      ['huge.png', makeHugePicture(25_000, 20_000), /500 megapixels is not shown/],
      ['wide.csv', `${columns}\n`, /first 50 of at least/],
      ['none.pdf', 'no PDF', /not those of a PDF/],
      ['none.png', 'no picture', /not those of a picture/],
    ] as const) {
      const id = await upload(server, name, content);
      await page.goto(`${server.url}/library/${id}`);
      assert.match(await page.innerText('.preview'), words);
    }
  });

  it('says in words what another tab has done, and tells the times of the server', async () => {
    const [one, other] = [await browser.open(), await browser.open()];
    const id = await upload(server, 'two tabs.txt', 'x');
    await other.page.clock.setFixedTime(new Date('2001-01-01T00:00:00Z'));
    for (const { page } of [one, other]) await page.goto(`${server.url}/library/${id}`);
    assert.match(await other.page.innerText('main'), new RegExp(`until .*${new Date().getUTCFullYear()}`));
    const { downloadUrl } = (await server.call('share_file', { file_id: id })).data;
    await one.page.click('text=Delete…');
    await one.page.click('button:text("Delete")');
    await one.page.waitForURL(/\/library$/);
    await other.page.click('button:text("Share")');
    assert.match(await other.page.innerText('main'), /deleted, perhaps in another tab/);
    await other.page.goBack();
    assert.match(await other.page.innerText('main'), /deleted, perhaps in another tab/);
    assert.equal((await other.page.goto(`${server.url}/library/${id}/content`))?.status(), 404);
    assert.equal((await other.page.goto(downloadUrl))?.status(), 410);
    await other.page.goto(`${server.url}/library/links`);
    assert.match(await other.page.innerText('main'), /a deleted file\s+gone/);
  });

  it('sends several files that were chosen or dropped, and goes on after a lost connection', async () => {
    const { page, complaints } = await browser.open();
    await page.goto(`${server.url}/library`);
    const contents = [randomBytes(20_000_000), Buffer.alloc(0), Buffer.from('small')];
    await page.setInputFiles(
      'input[type=file]',
      contents.slice(0, 2).map((buffer, at) => ({ name: `sent ${at}.bin`, mimeType: '', buffer })),
    );
    const dropped = await page.evaluateHandle(
      `(() => { const held = new DataTransfer(); held.items.add(new File(['small'], 'sent 2.bin')); held.items.add(new File(['x'], 'not this.bin')); return held; })()`,
    );
    await page.dispatchEvent('.drop', 'drop', { dataTransfer: dropped });
    await page.click('[aria-label="Remove not this.bin"]');
    assert.deepEqual(await findBarriers(page), []);
    let pieces = 0;
    await page.route('**/uploads/*', async (route) => {
      if (route.request().method() === 'PATCH' && ++pieces === 2) return route.abort('connectionreset');
      return route.continue();
    });
    await page.click('text=Send 3 files');
    for (const at of contents.keys()) await page.locator('table a', { hasText: `sent ${at}.bin` }).waitFor();
    assert.ok(pieces > 3, 'it was sent in pieces, one of them twice');
    const { files } = (await server.call('list_files', { text: 'sent ' })).data;
    assert.deepEqual(
      files.map(({ size }: { size: number }) => size).toSorted((a: number, b: number) => a - b),
      [0, 5, 20_000_000],
    );
    await page.fill('input[type=search]', 'SENT 2');
    await page.keyboard.press('Enter');
    await page.waitForURL(/text=SENT/);
    assert.equal(await page.locator('tbody tr').count(), 1);
    assert.deepEqual(
      complaints.filter((text) => !text.includes('ERR_CONNECTION_RESET')),
      [],
    );
    recordProof('G1:upload-of-several-files');
  });

  it('sends, finds and deletes files without JavaScript', async () => {
    const { page, complaints } = await browser.open({ javaScriptEnabled: false });
    await page.goto(`${server.url}/library`);
    await page.click('form[action="/library/upload"] button');
    await page.waitForURL(/\/uploads\//);
    await page.setInputFiles('form input[type=file]', [
      { name: 'plain "1".txt', mimeType: 'text/plain', buffer: Buffer.from('one') },
      { name: 'plain 2.txt', mimeType: 'text/plain', buffer: Buffer.from('two') },
    ]);
    await page.click('form button');
    await page.locator('text=Arrived').waitFor();
    await page.goto(`${server.url}/library?text=plain`);
    assert.equal(await page.locator('tbody tr').count(), 2);
    await page.click('text=plain "1".txt');
    assert.match(await page.innerText('.preview'), /one/);
    await page.click('text=Delete…');
    await page.click('button:text("Delete")');
    await page.goto(`${server.url}/library?text=plain`);
    assert.equal(await page.locator('tbody tr').count(), 1);
    assert.deepEqual(complaints, []);
    recordProof('G1:files-by-keyboard-and-without-javascript');
  });

  it('shows each user their own files alone, also in frames', async () => {
    await using team = await startTeam();
    const [ada, eve] = [await team.join('ada'), await team.join('eve')];
    const id = await send(ada, 'page.html', '<h1>Inside</h1>');
    const { page, complaints } = await browser.open();
    const signIn = async (key: string): Promise<void> => {
      await page.goto(`${team.url}/sign-in`);
      await page.fill('input[name=key]', key);
      await page.keyboard.press('Enter');
      await page.locator('nav').first().waitFor();
    };
    await signIn(ada.bearer);
    await page.goto(`${team.url}/library/${id}`);
    assert.equal(await page.frameLocator('iframe').locator('h1').innerText(), 'Inside');
    assert.deepEqual(complaints, []);
    await page.context().clearCookies();
    await signIn(eve.bearer);
    for (const path of [`/library/${id}`, `/library/${id}/content`, `/library/${id}/delete`]) {
      assert.equal((await page.goto(team.url + path))?.status(), 404, path);
      assert.doesNotMatch(await page.innerText('main'), /page\.html|Inside/);
    }
  });
});

/** What an independent decoder reads in the code as the browser draws it. */
async function readQr(page: Page): Promise<string | undefined> {
  const side = 410;
  const pixels = await page.evaluate<number[]>(`(async () => {
    const svg = document.querySelector('.qr').cloneNode(true);
    svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    svg.setAttribute('width', ${side});
    svg.setAttribute('height', ${side});
    const picture = new Image();
    picture.src = 'data:image/svg+xml,' + encodeURIComponent(svg.outerHTML);
    await picture.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: ${side}, height: ${side} });
    const drawing = canvas.getContext('2d');
    drawing.drawImage(picture, 0, 0);
    return Array.from(drawing.getImageData(0, 0, ${side}, ${side}).data);
  })()`);
  return decodeQr(Uint8ClampedArray.from(pixels), side, side)?.data;
}
