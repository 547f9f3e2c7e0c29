import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NO_BROWSER, openTab, type Tab } from './browser.testing.ts';
import { connect, type Connected, type Manners } from './clients.testing.ts';
import { binary, furnish, makeProject, umlauts, type Project } from './project.testing.ts';
import { serve, type Served } from './servers.testing.ts';

describe('the page that takes a file', { skip: NO_BROWSER }, () => {
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

  /** A person at a browser, who chooses this on the page and sends it. */
  function person(chosen: string): Promise<Connected> {
    const manners: Manners = {
      async url(url) {
        await tab.open(url);
        await tab.choose('input', [join(project.root, chosen)]);
        // The browser takes a moment to look into a folder.
        await tab.until(`!document.querySelector('button').disabled`);
        await tab.click('button');
        await tab.until(`document.querySelector('output').value.startsWith('Sent')`);
        return { action: 'accept' };
      },
    };
    const capabilities = { elicitation: { url: {} } };
    return connect(served, { version: '2025-11-25', capabilities, manners });
  }

  it('E10: sends the file that is chosen, as it is, and tells no more than its name', async () => {
    const path = `${folder}/data.bin`;
    await using client = await person(path);
    const { data, text } = await client.call('read_client_file', { path, binary: true });
    assert.deepEqual(Buffer.from(data?.data ?? '', 'base64'), Buffer.from(binary), text);
    assert.equal(data.rung, 'url');
    const shown = await tab.see('document.documentElement.outerHTML');
    assert.match(String(shown), /data\.bin/);
    assert.doesNotMatch(String(shown), new RegExp(`${project.root}|docs/page`));
  });

  it('E1: sends the names of a folder and no content', async () => {
    await using client = await person(folder);
    const input = { path: folder, recursive: true, pattern: '*.txt' };
    const { data, text } = await client.call('list_client_directory', input);
    assert.deepEqual(
      data?.entries.map(({ path, size }: Record<string, unknown>) => [path, size]),
      [
        [`${folder}/deep/er/it's.txt`, 8],
        [`${folder}/grüße an alle.txt`, Buffer.byteLength(umlauts)],
      ],
      text,
    );
  });

  it('is dead once it was used, and breaks none of its own rules', async () => {
    const used = String(await tab.see('location.href'));
    assert.equal((await fetch(used)).status, 404);
    assert.deepEqual(tab.complaints, []);
  });
});
