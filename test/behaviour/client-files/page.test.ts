import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '../pages/browser.testing.ts';
import { openTab, type Tab } from './browser.testing.ts';
import { connect, type Connected, type Manners } from './clients.testing.ts';
import { binary, furnish, makeProject, umlauts, type Project } from './project.testing.ts';
import { serve, type Served } from './servers.testing.ts';
import { flattened } from './tree.testing.ts';

const isSent = `document.querySelector('output').value.startsWith('Sent')`;

describe('the page that takes a file', { skip: noBrowser }, () => {
  let served: Served;
  let project: Project;
  let tab: Tab;
  let folder: string;
  before(async () => {
    [served, project, tab] = [await serve('HTTP'), await makeProject(), await openTab()];
    folder = await furnish(project, 'page');
  });
  after(async () => {
    await tab?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
    await project?.[Symbol.asyncDispose]();
  });

  const connected = (url: NonNullable<Manners['url']>): Promise<Connected> =>
    connect(served, { version: '2025-11-25', capabilities: { elicitation: { url: {} } }, manners: { url } });

  /** A person at a browser, who chooses this on the page and sends it. */
  function person(chosen: string, looks: () => Promise<void> = async () => {}): Promise<Connected> {
    return connected(async (url) => {
      await tab.open(url);
      await tab.choose('input', [join(project.root, chosen)]);
      // The browser takes a moment to look into a folder.
      await tab.until(`!document.querySelector('button').disabled`);
      await looks();
      await tab.click('button');
      await tab.until(isSent);
      return { action: 'accept' };
    });
  }

  it('sends the file that is chosen, as it is, and does not tell where the project is', async () => {
    const path = `${folder}/data.bin`;
    await using client = await person(path);
    const { data, text } = await client.call('read_client_file', { path, binary: true, via: 'url' });
    assert.deepEqual(Buffer.from(data?.data ?? '', 'base64'), Buffer.from(binary), text);
    assert.equal(data.rung, 'url');
    const shown = await tab.see('document.documentElement.outerHTML');
    assert.match(String(shown), /data\.bin/);
    assert.doesNotMatch(String(shown), new RegExp(project.root));
  });

  it('sends the names of a folder and no content', async () => {
    await using client = await person(folder);
    const input = { path: folder, recursive: true, pattern: '*.txt', via: 'url' };
    const { data, text } = await client.call('list_client_directory', input);
    assert.deepEqual(
      flattened(data?.entries).map(({ path, size }) => [path, size]),
      [
        [`${folder}/deep`, null],
        [`${folder}/deep/er`, null],
        [`${folder}/deep/er/it's.txt`, 8],
        [`${folder}/grüße an alle.txt`, Buffer.byteLength(umlauts)],
      ],
      text,
    );
  });

  const listed = async (client: Connected, path: string, recursive: boolean) => {
    const { data, text } = await client.call('list_client_directory', { path, recursive, via: 'url' });
    assert.equal(data?.cut, false, text);
    return flattened(data.entries).map(({ type, path: at }) => `${type} ${at}`);
  };

  it('folders are listed with what is in them', async () => {
    await using client = await person(folder);
    const files = [`file ${folder}/data.bin`, `file ${folder}/grüße an alle.txt`];
    assert.deepEqual(await listed(client, folder, false), [files[0], `folder ${folder}/deep`, files[1]]);
    const all = await listed(client, folder, true);
    assert.ok(all.includes(`folder ${folder}/deep/er`), all.join(', '));
  });

  it('another folder than the one asked for is warned of, and the right one is not', async () => {
    const warnings: unknown[] = [];
    const looks = async () => void warnings.push(await tab.see(`document.querySelector('output').value`));
    await using other = await person(`${folder}/deep`, looks);
    await listed(other, folder, false);
    await using right = await person(`${folder}/deep`, looks);
    await listed(right, `${folder}/deep`, false);
    assert.deepEqual(warnings, ['Asked for was page. Send this one only if you mean to.', '']);
  });

  it('of an empty folder, which no browser lets be chosen, a person can say that it is', async () => {
    await using client = await connected(async (url) => {
      await tab.open(url);
      await tab.click('button + button');
      await tab.until(isSent);
      return { action: 'accept' };
    });
    assert.deepEqual(await listed(client, 'docs/empty', true), []);
  });

  it('is dead once it was used, says so to people and to programs, and breaks none of its own rules', async () => {
    const used = String(await tab.see('location.href'));
    const asked = await fetch(used);
    assert.equal(asked.status, 404);
    assert.match(await asked.text(), /"code":"upload_not_found"/);
    assert.deepEqual(tab.complaints, []);
    await tab.open(`${used}?again`);
    const shown = String(await tab.see('document.body.innerText'));
    assert.match(shown, /was used, has expired[^]*assistant can be told to ask again/);
    assert.equal(await tab.see(`document.querySelector('input, script, button')`), null);
  });
});

/** As browsers ask over plain HTTP; `fetch` says of itself that it is none. */
async function openAsBrowser(url: string, method = 'GET') {
  const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'upgrade-insecure-requests': '1' };
  const [answer] = (await once(request(url, { method, headers }).end(), 'response')) as [IncomingMessage];
  return { status: answer.statusCode, type: answer.headers['content-type'] ?? '', body: await text(answer) };
}

describe('a page that nobody was given', () => {
  it('is a page for people, whole and kept from being guessed at', async () => {
    await using served = await serve('HTTP', { guessLimit: 3 });
    const url = `${served.url}/ask/${'a'.repeat(43)}`;
    const head = await openAsBrowser(url, 'HEAD');
    assert.deepEqual([head.status, head.body], [404, '']);
    const page = await openAsBrowser(url);
    assert.match(page.type, /text\/html/);
    assert.match(page.body, /<h1>Nothing can be sent here<\/h1>[^]*<\/html>\s*$/);
    await openAsBrowser(url);
    assert.equal((await fetch(url)).status, 429, 'each of them was counted');
  });
});
