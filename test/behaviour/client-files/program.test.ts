import assert from 'node:assert/strict';
import { symlink, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { argumentsOf, command, environment, temporaryFolder } from '../../conformance/cli.testing.ts';
import { ask, prove } from './asking.testing.ts';
import { connectBy, type Connected } from './clients.testing.ts';
import { honest } from './honest.testing.ts';
import { furnish, makeProject, umlauts } from './project.testing.ts';

for (const [who, capabilities] of Object.entries({
  'that tells its roots': { roots: {} },
  'that tells none, as Codex does': { elicitation: { form: {}, url: {} } },
}))
  test(`the program itself, started in a project by a client ${who}: files are read in place`, async () => {
    await using project = await makeProject();
    const { root } = project;
    const folder = await furnish(project, 'program');
    await using client = await startIn(root, capabilities, root);
    const path = `${folder}/grüße an alle.txt`;
    for (const via of [undefined, 'direct']) {
      const { data, text } = await client.call('read_client_file', { path, via });
      assert.equal(data?.text, umlauts, text);
      assert.deepEqual([data.rung, data.local_path], ['direct', join(root, path)]);
      assert.match(text, /read in place at /);
      assert.ok(text.includes(root), text);
    }
    await writeFile(join(root, path), 'edited');
    assert.equal((await client.call('read_client_file', { path })).data?.text, 'edited');
    const listed = await client.call('list_client_directory', { path: folder });
    assert.equal(listed.data?.rung, 'direct', listed.text);
    const outside = await client.call('read_client_file', { path: join(root, 'secret.txt') });
    assert.equal(outside.code, 'path_not_allowed', outside.text);
    const none = await client.call('read_client_file', { path: `${folder}/none.txt` });
    assert.equal(none.code, 'path_not_found', none.text);
  });

test('what was pasted over stdio is read and given to runs, until the file itself is newer', async () => {
  await using project = await makeProject();
  const { root } = project;
  const folder = await furnish(project, 'program');
  await using client = await startIn(root, {}, root, [
    '--sandbox',
    'subprocess',
    '--allow-sandbox',
    'subprocess',
  ]);
  const [unsaved, saved] = [`${folder}/unsaved.md`, `${folder}/saved.md`];
  await writeFile(join(root, saved), 'on disk');
  const past = new Date(Date.now() - 60_000);
  await utimes(join(root, saved), past, past);
  const missing = await client.call('read_client_file', { path: unsaved });
  assert.equal(missing.code, 'path_not_found', missing.text);
  for (const path of [unsaved, saved]) {
    const kept = await client.call('guide_cache_file', { path, content: 'pasted' });
    assert.match(kept.text, /Remembered for an hour: 1\./);
    const { data, text } = await client.call('read_client_file', { path });
    assert.deepEqual([data?.text, data?.rung, data?.cached], ['pasted', 'given', true], text);
    assert.match(text, /given with guide_cache_file \d+ s ago \(remembered; refresh: true /);
    const run = await client.call('execute_code', {
      language: 'bash',
      code: `cat "$(find . -name ${basename(path)})"`,
      client_files: [path],
    });
    assert.equal(run.data?.stdout, 'pasted', run.text);
  }
  for (const more of [{ refresh: true }, { via: 'direct' }]) {
    const { data, text } = await client.call('read_client_file', { path: saved, ...more });
    assert.deepEqual([data?.text, data?.rung], ['on disk', 'direct'], text);
  }
  await client.call('guide_cache_file', { path: saved, content: 'pasted again' });
  const later = new Date(Date.now() + 60_000);
  await writeFile(join(root, saved), 'edited later');
  await utimes(join(root, saved), later, later);
  const edited = await client.call('read_client_file', { path: saved });
  assert.deepEqual([edited.data?.text, edited.data?.rung], ['edited later', 'direct'], edited.text);
  const outside = { path: '../outside.md', content: 'x' };
  const batch = [
    { path: `${folder}/first.md`, content: 'one' },
    { path: `${folder}/second.md`, content: 'two' },
  ];
  const refused = await client.call('guide_cache_file', { files: [...batch, outside] });
  assert.equal(refused.code, 'path_refused', refused.text);
  for (const { path } of batch) {
    const none = await client.call('read_client_file', { path });
    assert.equal(none.code, 'path_not_found', none.text);
  }
  const several = await client.call('guide_cache_file', { files: batch });
  assert.match(several.text, /^Remembered for an hour: 2\./);
  assert.equal(several.data.cache.entries, 4, several.text);
  for (const { path, content } of batch) {
    const { data, text } = await client.call('read_client_file', { path });
    assert.deepEqual([data?.text, data?.rung], [content, 'given'], text);
  }
  recordProof(
    'E5:what-was-pasted-is-used-where-files-are-read-in-place',
    'E5:what-a-person-gave-for-an-hour',
    'E9:one-file-or-several',
    'E9:whole-batch-or-nothing',
    'E9:statistics-returned',
  );
});

test('the program itself, started elsewhere: a project that its client tells has to be proven first', async () => {
  await using project = await makeProject();
  await using elsewhere = await temporaryFolder();
  const { root } = project;
  const folder = await furnish(project, 'program');
  await using client = await startIn(elsewhere.path, { roots: {} }, root);
  const path = `${folder}/grüße an alle.txt`;
  const sent = await ask(client, root, 'read_client_file', { path });
  assert.equal(sent.data?.text, umlauts, sent.text);
  assert.equal(sent.data.rung, 'upload');
  await prove(client, root, folder);
  const read = await client.call('read_client_file', { path });
  assert.equal(read.data?.text, umlauts, read.text);
  assert.equal(read.data.rung, 'direct');
});

test('a link in the folder that it was started in does not make what it leads to trusted', async () => {
  await using project = await makeProject();
  await using started = await temporaryFolder();
  await symlink(project.root, join(started.path, 'linked'));
  await using client = await startIn(started.path, { roots: {} }, join(started.path, 'linked'));
  const { data, text } = await client.call('list_client_directory', { path: 'docs' });
  assert.deepEqual([data?.status, data?.rung], ['offered', 'upload'], text);
});

/** The program as a client starts it, in a folder, with the project that the client tells if it is asked. */
async function startIn(
  cwd: string,
  capabilities: ClientCapabilities,
  root: string,
  sandbox = ['--sandbox', 'off'],
): Promise<Connected> {
  const data = await temporaryFolder();
  const args = argumentsOf(
    'stdio',
    '--structured',
    '--port',
    '0',
    '--data',
    join(data.path, 'data'),
    ...sandbox,
  );
  const transport = new StdioClientTransport({ command, args, cwd, env: environment, stderr: 'ignore' });
  const client = await connectBy(transport, { version: '2025-11-25', capabilities, manners: honest(root) });
  return {
    ...client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await data[Symbol.asyncDispose]();
    },
  };
}
