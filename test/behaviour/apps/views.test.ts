import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Frame } from 'playwright-core';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from '../pages/browser.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { openHost, type HostOptions } from './host.testing.ts';

const chart = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="teal"/></svg>`;

describe('a view in a host', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: OpenBrowser;
  before(async () => {
    [server, browser] = await Promise.all([startServer({ sandbox: 'auto' }), openBrowser()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  const open = (options: HostOptions = {}) => openHost(browser, server.url, options);

  const writeFiles = `import csv
with open('/artifacts/table.csv', 'w') as file:
    rows = csv.writer(file)
    rows.writerow(['name', 'value'])
    rows.writerows([['row %d' % at, (at * 37) % 120] for at in range(120)])
open('/artifacts/chart.svg', 'w').write('''${chart}''')
print('written')
6 * 7`;

  async function packCrate(title: string): Promise<string> {
    const run = await server.call('execute_code', { language: 'python', code: writeFiles });
    const packed = await server.call('pack_crate', { execution_id: run.data.execution_id, title });
    assert.equal(packed.failed, false, packed.text);
    await server.call('sync_index', {});
    return packed.data.crate_id as string;
  }

  const getPicture = (view: Frame) =>
    view
      .locator('img')
      .first()
      .evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth);

  for (const theme of ['light', 'dark'] as const)
    it(`follows the theme of the host, has no barriers and no complaints (${theme})`, async () => {
      // The system says the opposite: only the host counts.
      const colorScheme = theme === 'light' ? 'dark' : 'light';
      await using host = await open({ theme, context: { colorScheme } });
      const crate_id = await packCrate(`Walks in ${theme}`);
      const shown: [string, Record<string, unknown>, string][] = [
        ['execute_code', { language: 'python', code: writeFiles }, 'img'],
        ['get_artifact', { name: 'table.csv' }, 'td'],
        ['get_crate', { crate_id }, '.files li'],
        ['search_index', { query: 'walks' }, '.results li'],
        ['request_upload', { filename: 'a.csv' }, '#file'],
      ];
      for (const [tool, input, part] of shown) {
        const { view } = await host.show(tool, input);
        await view.locator(part).first().waitFor();
        assert.equal(
          await view.locator('body').evaluate('getComputedStyle(document.body).backgroundColor'),
          theme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(28, 32, 36)',
          tool,
        );
        assert.deepEqual(await findBarriers(view), [], tool);
        // The frame is as high as what is in it.
        await eventually(
          async () =>
            (await view.evaluate('document.documentElement.scrollHeight - window.innerHeight')) === 0,
        );
      }
      await host.setTheme(theme === 'light' ? 'dark' : 'light');
      const view = host.page.frames()[1]!;
      await eventually(async () => (await view.evaluate('document.documentElement.dataset.theme')) !== theme);
      assert.deepEqual(host.complaints, []);
      recordProof(`G2:${theme}-by-the-host-without-barriers`, 'G2:within-the-default-policy');
    });

  it('of a run shows output, values, pictures and files, and opens and downloads them by the host', async () => {
    await using host = await open();
    const { view } = await host.show('execute_code', { language: 'python', code: writeFiles });
    await view.locator('img').first().waitFor();
    assert.equal(await getPicture(view), 40);
    const text = await view.innerText('main');
    for (const part of ['ok', 'Python run', 'written', '42', 'table.csv', 'chart.svg'])
      assert.ok(text.includes(part), `${part} in ${text}`);
    await view.click('[aria-label="Open table.csv"]');
    await eventually(() => host.requests.length === 1);
    const [kind, url] = host.requests[0] as [string, string];
    assert.equal(kind, 'open');
    assert.match(await (await fetch(url)).text(), /^name,value/);
    await view.click('[aria-label="Download chart.svg"]');
    await eventually(() => host.requests.length === 2);
    assert.deepEqual(
      (host.requests[1]![1] as { name: string; type: string }[]).map(({ name, type }) => [name, type]),
      [['chart.svg', 'resource_link']],
    );
    await view.click('[aria-label="Look into table.csv"]');
    await view.locator('td', { hasText: 'row 3' }).first().waitFor();
    assert.deepEqual(host.complaints, []);
  });

  it('of a run that goes on shows what it prints as it comes, and ends it', async () => {
    await using host = await open();
    const code =
      'import time\nprint("begun", flush=True)\ntime.sleep(1)\nprint("later", flush=True)\ntime.sleep(600)';
    const { view } = await host.show('execute_code', { language: 'python', code, background: true });
    await view.locator('[role=log]', { hasText: 'later' }).waitFor();
    assert.match(await view.innerText('main'), /running[^]*begun\s+later/);
    await view.locator('text=End this run').focus();
    await host.page.keyboard.press('Enter');
    await view.locator('.state', { hasText: 'cancelled' }).waitFor();
    assert.match(await view.innerText('main'), /begun\s+later/);
    assert.deepEqual(host.complaints, []);
    recordProof('G2:run-with-output-as-it-comes');
  });

  it('of a table sorts, filters and turns pages by keyboard alone', async () => {
    await server.call('execute_code', { language: 'python', code: writeFiles });
    await using host = await open();
    const { view, result } = await host.show('get_artifact', { name: 'table.csv' });
    await view.locator('td').first().waitFor();
    const readCell = () => view.locator('tbody tr:first-child td').allInnerTexts();
    assert.deepEqual(await readCell(), ['row 0', '0']);
    const sort = view.locator('th:nth-child(2) button');
    await sort.focus();
    await host.page.keyboard.press('Enter');
    await view.locator('th[aria-sort="ascending"]').waitFor();
    assert.deepEqual(await readCell(), ['row 0', '0']);
    // The focus is where it was.
    await host.page.keyboard.press('Enter');
    await view.locator('th[aria-sort="descending"]').waitFor();
    const [, most] = await readCell();
    assert.equal(most, '119');
    await view.locator('text=Next').focus();
    await host.page.keyboard.press('Enter');
    await view.locator('text=51–100 of 120 rows').waitFor();
    assert.equal((await readCell())[1], '69');
    await view.locator('input[type=search]').focus();
    await host.page.keyboard.type('ROW 11');
    await view.locator('text=11 of 120 rows').waitFor();
    assert.ok(
      (await view.locator('tbody td:first-child').allInnerTexts()).every((cell) => cell.startsWith('row 11')),
    );
    // Rows reach the person, and not the model.
    assert.doesNotMatch(JSON.stringify(result.content), /row \d/);
    assert.deepEqual(host.complaints, []);
    recordProof('G2:table-sorted-filtered-and-paged');
  });

  it('of a file shows a picture or text, and says what it does not show', async () => {
    await using host = await open();
    const code = `open('/artifacts/chart.svg', 'w').write('''${chart}''')
open('/artifacts/notes.md', 'w').write('# Notes')
open('/artifacts/data.bin', 'wb').write(bytes(range(256)) * 40)
open('/artifacts/empty.csv', 'w')`;
    await server.call('execute_code', { language: 'python', code });
    const picture = await host.show('get_artifact', { name: 'chart.svg' });
    await picture.view.locator('img').waitFor();
    assert.equal(await getPicture(picture.view), 40);
    const expected = { 'notes.md': /# Notes/, 'data.bin': /is not shown here/, 'empty.csv': /is empty/ };
    for (const [name, words] of Object.entries(expected)) {
      const { view } = await host.show('get_artifact', { name });
      await view.locator('.panel[aria-busy]').waitFor({ state: 'detached' });
      await eventually(async () => words.test(await view.innerText('main')));
    }
    const file_id = await upload(server, 'stored.csv', 'a;b\n1;2\n');
    const { view } = await host.show('share_file', { file_id });
    await view.locator('td').first().waitFor();
    assert.deepEqual(await view.locator('td').allInnerTexts(), ['1', '2']);
    assert.deepEqual(host.complaints, []);
  });

  it('of crates shows results, a crate with its files, and what is in one', async () => {
    const crate_id = await packCrate('Gliding squirrels');
    await using host = await open();
    const { view } = await host.show('search_index', { query: 'gliding' });
    await view.locator('button.title').focus();
    await host.page.keyboard.press('Enter');
    await view.locator('.files li').first().waitFor();
    assert.match(await view.innerText('main'), /Gliding squirrels[^]*RO-Crate[^]*table\.csv/);
    await view.click('[aria-label$="table.csv"]:has-text("Look")');
    await view.locator('td', { hasText: 'row 1' }).first().waitFor();
    await view.click('text=Back to the results');
    await view.locator('.results li').first().waitFor();
    const listed = await host.show('list_crate_files', { crate_id });
    await listed.view.locator('.files li').first().waitFor();
    const read = await host.show('read_crate_file', { crate_id, path: 'ro-crate-metadata.json' });
    await read.view.locator('pre', { hasText: '@context' }).waitFor();
    assert.deepEqual(host.complaints, []);
    recordProof('G2:crate-with-its-files');
  });

  it('takes files that a person picks past the model, in pieces, and tells the agent of them', async () => {
    await using host = await open();
    const { view } = await host.show('request_upload', { filename: 'any.bin' });
    const large = Buffer.alloc(2_000_000, 'secret bytes ');
    await view.setInputFiles('#file', [
      { name: 'large "one".bin', mimeType: 'application/octet-stream', buffer: large },
      { name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) },
    ]);
    await view.locator('.state.good').nth(1).waitFor();
    const { data } = await server.call('list_files', {});
    const files = data.files as { filename: string; size: number; file_id: string }[];
    const found = files.find(({ filename }) => filename.startsWith('large'))!;
    assert.equal(found.size, large.length);
    const { data: link } = await server.call('share_file', { file_id: found.file_id });
    assert.deepEqual(Buffer.from(await (await fetch(link.downloadUrl as string)).arrayBuffer()), large);
    assert.ok(files.some(({ filename, size }) => filename === 'empty.txt' && size === 0));
    assert.equal(host.calls.filter(({ name }) => name === 'send_piece').length, 4);
    await view.click('text=Tell the agent');
    await view.locator('text=Told').waitFor();
    const said = JSON.stringify(host.requests);
    assert.ok(said.includes(found.file_id) && !said.includes('secret'));
    await view.setInputFiles('#file', [
      { name: 'too-large.bin', mimeType: 'text/plain', buffer: Buffer.alloc(21 * 1024 ** 2) },
    ]);
    await view.locator('.failed', { hasText: 'larger than 20 MB' }).waitFor();
    await view.click('text=Open the page of the upload');
    await eventually(() =>
      host.requests.some(([kind, url]) => kind === 'open' && String(url).includes('/uploads/')),
    );
    assert.deepEqual(host.complaints, []);
    recordProof('G2:picked-files-past-the-model');
  });

  it('takes the file of a project that read_client_file waits for', async () => {
    await using own = await startServer({ clientPaths: ['docs'] });
    await using host = await openHost(browser, own.url);
    const wanted = { path: 'docs/a.csv', via: 'upload' };
    const { view } = await host.show('read_client_file', wanted);
    await view.setInputFiles('#file', [
      { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n') },
    ]);
    await view.locator('.state.good').waitFor();
    await view.click('text=Tell the agent');
    await eventually(() => JSON.stringify(host.requests).includes('read_client_file'));
    const again = await host.show('read_client_file', wanted);
    assert.match(JSON.stringify(again.result.content), /a,b/);
    assert.match(await again.view.innerText('main'), /read[^]*docs\/a\.csv/);
    assert.deepEqual(host.complaints, []);
  });
});
