import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { metadata, startCrateServer, type CrateServer } from '../backends/crates.testing.ts';
import { startTeam } from '../users/team.testing.ts';
import { findBarriers, noBrowser, openBrowser, type OpenBrowser } from './browser.testing.ts';
import { cycle, hostile, hugeFiles, makeGlaciers, makeHugeCrate, steps } from './crates.testing.ts';

const glaciers = 24;

describe('crates on the page', { skip: noBrowser }, () => {
  let server: CrateServer;
  let browser: OpenBrowser;
  before(async () => {
    const crates = { ...makeGlaciers(glaciers), ...steps, ...cycle, ...hostile, 'huge.zip': makeHugeCrate() };
    [server, browser] = await Promise.all([startCrateServer(crates), openBrowser()]);
    await server.call('sync_index', {});
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  async function find(title: string): Promise<string> {
    const { data } = await server.call('search_index', { query: `title:"${title}"`, mode: 'keyword' });
    return data.results[0].crate_id as string;
  }
  const countOf = (page: Page): Promise<string> => page.innerText('[role=status]');

  for (const [look, options] of [
    ['light', { colorScheme: 'light' }],
    ['dark, on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 800 } }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ] as const)
    it(`are searched, shown and checked (${look})`, async () => {
      const { page, complaints } = await browser.open(options);
      const [whole, loop, huge] = [await find('Two steps'), await find('A cycle'), await find('Huge')];
      for (const path of [
        '/crates',
        '/crates?query=glaciers&author=Ada+Byron&year=2015',
        '/crates?query=nothing+has+these+words&mode=keyword',
        `/crates/${whole}`,
        `/crates/${whole}/check`,
        `/crates/${loop}`,
        `/crates/${huge}?files=*00.csv&offset=100`,
        '/connect',
      ]) {
        assert.equal((await page.goto(server.url + path))?.status(), 200, path);
        await page.locator('h1').waitFor();
        const width = await page.locator('body').evaluate((body) => body.scrollWidth);
        assert.ok(width <= page.viewportSize()!.width, `${path} is ${width} wide`);
        if (look !== 'without JavaScript') assert.deepEqual(await findBarriers(page), [], path);
      }
      assert.deepEqual(complaints, []);
    });

  it('are narrowed by author, year, keyword and licence, each with its count, by keyboard alone', async () => {
    const { page } = await browser.open();
    await page.goto(`${server.url}/crates`);
    assert.match(await countOf(page), /28 crates, newest first: 1 to 20/);
    await page.keyboard.press('Tab');
    await page.locator('input[type=search]').focus();
    await page.keyboard.type('glaciers');
    await page.keyboard.press('Enter');
    await page.waitForURL(/query=glaciers/);
    assert.match(await countOf(page), new RegExp(`${glaciers} crates, best first: 1 to 20`));
    const facets = await page.innerText('nav.facets');
    for (const line of [/Ada Byron\s+8/, /2015\s+5/, /ice\s+12/, /MIT\s+12/]) assert.match(facets, line);
    for (const [name, left] of [
      ['Ada Byron', 8],
      ['ice', 4],
      ['2015', 1],
    ] as const) {
      await page.locator('nav.facets a', { hasText: name }).focus();
      await page.keyboard.press('Enter');
      await page.locator('.chip', { hasText: name }).waitFor();
      assert.match(await countOf(page), new RegExp(`^${left} crates?,`));
    }
    await page.locator('[aria-label="Take away Keyword: ice"]').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => !url.searchParams.has('keyword'));
    assert.match(await countOf(page), /^2 crates/);
    assert.ok((await page.locator('mark').count()) > 0, 'what matches is marked');
  });

  it('go on to the next page and back, and the same words find by meaning', async () => {
    const { page } = await browser.open();
    await page.goto(`${server.url}/crates?query=glaciers&mode=keyword`);
    await page.click('text=Next');
    assert.match(await countOf(page), /21 to 24/);
    await page.click('text=Previous');
    assert.match(await countOf(page), /1 to 20/);
    await page.selectOption('select[name=mode]', 'semantic');
    await page.click('form[role=search] button');
    await page.waitForURL(/mode=semantic/);
    assert.match(await countOf(page), /crates, best first/);
  });

  it('have files that are opened and downloaded, and a graph that leads to them', async () => {
    const { page, complaints } = await browser.open();
    const address = `${server.url}/crates/${await find('Two steps')}`;
    await page.goto(address);
    const graph = page.locator('.graph svg').first();
    assert.match(await graph.innerHTML(), /Measure[^]*Average/);
    assert.equal(await graph.locator('.edge').count(), 3);
    await page.click('.graph summary');
    assert.match(await page.innerText('.graph details'), /Measure, by Ada Byron, 2024-01-01 10:00/);
    await graph.locator('a', { hasText: 'mean.txt' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/files=/);
    assert.deepEqual(await page.locator('.files li').count(), 1);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('[aria-label="Download mean.txt"]'),
    ]);
    assert.equal(await readFile(await download.path(), 'utf8'), '12.4');
    await page.goto(address);
    await page.click('[aria-label="Open lengths.csv"]');
    await page.waitForURL(/\/files\//);
    await page.locator('td.number').first().waitFor();
    await page.goto(address);
    await page.click('text=Download >> nth=0');
    await page.waitForURL(/\/files\//);
    assert.match(await page.innerText('main'), /ZIP archive/);
    assert.deepEqual(complaints, []);
  });

  it('show their own page in a frame, with the pictures that are in the crate', async () => {
    const { page, complaints } = await browser.open();
    await page.goto(`${server.url}/crates/${await find('Two steps')}`);
    await page.locator('iframe').scrollIntoViewIfNeeded();
    const frame = page.frameLocator('iframe');
    await frame.locator('h1', { hasText: 'What we did' }).waitFor();
    assert.match((await frame.locator('img').getAttribute('src'))!, /^data:image\/svg\+xml;base64,/);
    assert.deepEqual(complaints, []);
  });

  it('say what the rules of RO-Crate find wrong, and what to do', async () => {
    const { page } = await browser.open();
    await page.goto(`${server.url}/crates/${await find('Two steps')}`);
    await page.click('text=Check by the rules');
    await page.locator('h2', { hasText: 'Must be corrected' }).waitFor();
    const words = await page.innerText('main');
    assert.match(words, /Not valid as RO-Crate 1\.1/);
    assert.match(words, /\.\//);
  });

  it('run nothing and fetch nothing of what a crate says', async () => {
    const { page } = await browser.open();
    const asked: string[] = [];
    // What the policy blocks is asked for in the browser alone, and has no response.
    page.on('response', (response) => asked.push(new URL(response.url()).pathname));
    page.on('dialog', () => assert.fail('something ran'));
    const id = await find('Hostile');
    for (const path of ['/crates?query=Hostile', `/crates/${id}/check`, `/crates/${id}`]) {
      await page.goto(server.url + path);
      const bad = 'main script, main [onerror], main [onload], main [href^="javascript:"], main img';
      assert.equal(await page.locator(bad).count(), 0, path);
      assert.deepEqual(await findBarriers(page), []);
    }
    await page.locator('iframe').scrollIntoViewIfNeeded();
    await page.frameLocator('iframe').locator('h1', { hasText: 'Inside' }).waitFor();
    await page.waitForTimeout(300);
    assert.equal(new URL(page.url()).pathname, `/crates/${id}`);
    const allowed = new Set(['/crates', `/crates/${id}`, `/crates/${id}/check`, `/crates/${id}/preview`]);
    assert.deepEqual(
      asked.filter((path) => !allowed.has(path)),
      [],
    );
    const preview = await fetch(`${server.url}/crates/${id}/preview`);
    assert.match(preview.headers.get('content-security-policy')!, /^sandbox; default-src 'none';/);
    // Opened by itself, it has no origin of ours either.
    await page.goto(`${server.url}/crates/${id}/preview`);
    assert.notEqual(await page.title(), 'ran');
  });

  it('have a graph that ends, whatever leads back to itself', async () => {
    const { page } = await browser.open();
    await page.goto(`${server.url}/crates/${await find('A cycle')}`);
    assert.equal(await page.locator('.node.action').count(), 3);
    assert.equal(await page.locator('.edge.back').count(), 2);
  });

  it('are shown in part where there are ten thousand files and five hundred actions', async () => {
    const { page } = await browser.open();
    const response = await page.goto(`${server.url}/crates/${await find('Huge')}`);
    assert.ok((await response!.body()).length < 150_000);
    assert.ok((await page.locator('.node').count()) <= 60);
    assert.match(await page.innerText('.graph'), /And 489 more actions/);
    assert.match(await page.locator('.node.more').first().textContent().then(String), /and 9999 more/);
    assert.match(await page.innerText('#files'), /10,001 files/);
    assert.equal(await page.locator('.files li').count(), 100);
    await page.click('nav[aria-label="Pages of files"] >> text=Next');
    await page.locator('text=101 to 200 of 10,001').waitFor();
    await page.fill('input[name=files]', `data/part-0${hugeFiles - 1}.csv`);
    await page.keyboard.press('Enter');
    await page.locator('text=1 file fit').waitFor();
    const { data } = await server.call('list_files', {});
    const lists = data.files.filter(({ filename }: { filename: string }) => filename.endsWith('.jsonl'));
    assert.deepEqual(lists, [], 'looking stores nothing');
    recordProof('G1:crates-search-preview-graph');
  });

  it('are found after a sync by the button, and those that cannot be read are told', async () => {
    const { page } = await browser.open();
    await server.put('new/ro-crate-metadata.json', metadata('A new one'));
    await server.put('broken.zip', 'this is no archive');
    await page.goto(`${server.url}/crates`);
    await page.click('text=Sync now');
    await page.waitForURL(/\/crates$/);
    await page.locator('text=What cannot be read').click();
    assert.match(await page.innerText('main'), /broken\.zip/);
    await page.goto(`${server.url}/crates?query=title:"A new one"&mode=keyword`);
    assert.match(await countOf(page), /^1 crate/);
  });

  it('are told of to a client by a line that is copied', async () => {
    const { page, complaints } = await browser.open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${server.url}/connect`);
    await page.locator('[aria-label="Copy the line for Codex"]').focus();
    await page.keyboard.press('Enter');
    await page.locator('button', { hasText: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    assert.equal(copied, `codex mcp add --url ${server.url}/mcp workcrate`);
    assert.deepEqual(complaints, []);
  });
});

describe('crates of a team on the page', { skip: noBrowser }, () => {
  it('are checked for whoever may read them, and nobody sees where they are on the disk', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workcrate-team-crates-'));
    await using cleaning = new AsyncDisposableStack();
    cleaning.defer(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, 'steps'));
    for (const [name, text] of Object.entries(steps)) await writeFile(join(folder, name), text);
    await using team = await startTeam({ crateSources: [pathToFileURL(folder).href], crateInterval: 0 });
    await using browser = await openBrowser();
    const { page } = await browser.open();
    await page.goto(`${team.url}/crates`);
    await page.fill('input[name=key]', await team.key('ada', ['crates']));
    await page.keyboard.press('Enter');
    await page.locator('nav').first().waitFor();
    await page.goto(`${team.url}/crates`);
    await page.click('text=Sync now');
    await page.click('text=Two steps');
    await page.locator('.graph').waitFor();
    assert.ok(!(await page.content()).includes(folder));
    await rm(join(folder, 'steps', 'ro-crate-preview.html'));
    const preview = await fetch(`${page.url()}/preview`, {
      headers: {
        cookie: (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join(),
      },
    });
    assert.ok(!(await preview.text()).includes(folder));
    await page.click('text=Check by the rules');
    assert.match(await page.innerText('main'), /Not valid as RO-Crate 1\.1/);
    await page.goto(`${team.url}/crates/crate_${'0'.repeat(24)}`);
    assert.match(await page.innerText('main'), /There is no crate with this id/);
  });
});
