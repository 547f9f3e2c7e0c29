import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { prove } from './asking.testing.ts';
import { connect, type Connected } from './clients.testing.ts';
import { makeProject, type Project } from './project.testing.ts';
import { serve, type Served } from './servers.testing.ts';
import { flattened } from './tree.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

describe('a client that shares the files of the server', () => {
  let served: Served;
  let project: Project;
  let client: Connected;
  before(async () => {
    served = await serve('stdio');
    project = await makeProject();
    const { root } = project;
    await mkdir(join(root, 'docs/real'));
    await writeFile(join(root, 'docs/real/a.txt'), 'real');
    await symlink('round', join(root, 'docs/round'));
    await symlink('b', join(root, 'docs/a'));
    await symlink('a', join(root, 'docs/b'));
    await symlink('..', join(root, 'docs/real/up'));
    await symlink('../secret.txt', join(root, 'docs/out.txt'));
    await symlink('..', join(root, 'docs/out'));
    await symlink('../..', join(root, 'docs/away'));
    await symlink('real/a.txt', join(root, 'docs/within.txt'));
    client = await connect(served, {
      version: '2026-07-28',
      capabilities: { roots: {} },
      manners: { root },
    });
  });
  after(async () => {
    await client?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
    await project?.[Symbol.asyncDispose]();
  });

  const read = (path: string, more = {}) => client.call('read_client_file', { path, via: 'direct', ...more });

  it('reads nothing before it has proven that, and a wrong proof proves nothing', async () => {
    const offered = await read('docs/real/a.txt');
    assert.equal(offered.data?.status, 'offered', offered.text);
    const wrong = await read('docs/real/a.txt', { proof: 'guessed' });
    assert.equal(wrong.code, 'client_refused', wrong.text);
    assert.equal((await read('docs/real/a.txt')).data?.status, 'offered');
    await prove(client, project.root, 'docs/real');
    assert.equal((await read('docs/real/a.txt')).data?.text, 'real');
  });

  for (const path of ['docs/round', 'docs/a', 'docs/b', 'docs/round/x.txt'])
    it(`links that lead round in a circle are refused and noted: ${path}`, async () => {
      const { code, text } = await read(path);
      assert.equal(code, 'path_refused', text);
      const [line] = await served.audited(({ subject }) => subject === path);
      assert.equal(line!.level, 'warning');
      recordProof('E4:links-judged-and-loops-refused');
    });

  for (const [path, refusal, level] of [
    ['docs/out.txt', 'path_not_allowed', 'info'],
    ['docs/out/secret.txt', 'path_not_allowed', 'info'],
    ['docs/real/up/out.txt', 'path_not_allowed', 'info'],
    ['docs/away', 'path_refused', 'warning'],
    ['docs/away/nothing.txt', 'path_refused', 'warning'],
  ] as const)
    it(`links out of what is allowed are refused, and a violation where they leave the project: ${path}`, async () => {
      const { code, text } = await read(path);
      assert.equal(code, refusal, text);
      assert.doesNotMatch(text, /for nobody/);
      const [line] = await served.audited(({ subject }) => subject === path);
      assert.equal(line!.level, level);
      recordProof('E4:links-judged-and-loops-refused');
    });

  it('a link to what is allowed is followed', async () => {
    assert.equal((await read('docs/within.txt')).data?.text, 'real');
  });

  it('a listing shows links as links and follows none', async () => {
    const input = { path: 'docs', recursive: true, via: 'direct' };
    const { data, text } = await client.call('list_client_directory', input);
    const shown = Object.fromEntries(flattened(data?.entries).map(({ path, type }) => [path, type]));
    assert.deepEqual(
      shown,
      {
        'docs/a': 'link',
        'docs/away': 'link',
        'docs/b': 'link',
        'docs/out': 'link',
        'docs/out.txt': 'link',
        'docs/real': 'folder',
        'docs/real/a.txt': 'file',
        'docs/real/up': 'link',
        'docs/round': 'link',
        'docs/within.txt': 'link',
      },
      text,
    );
  });

  it('what is not there is path_not_found, and neither that nor a refusal is kept', async () => {
    const { code, text } = await read('docs/nothing.txt');
    assert.equal(code, 'path_not_found', text);
    for (const path of ['docs/nothing.txt', 'docs/out.txt', 'docs/round'])
      assert.equal((await client.call('guide_cache_file', { forget: path })).data?.forgot, false);
    recordProof('E6:not-found', 'E6:none-is-cached');
  });

  const asRoot = process.getuid?.() === 0 ? 'root may read everything' : false;
  it('what may not be read is client_refused', { skip: asRoot }, async () => {
    const path = join(project.root, 'docs/real/closed.txt');
    await writeFile(path, 'closed');
    await chmod(path, 0);
    assert.equal((await read('docs/real/closed.txt')).code, 'client_refused');
  });
});

it('a server that ends leaves no file of a proof behind', async () => {
  await using project = await makeProject();
  const served = await serve('stdio');
  const wish = { version: '2026-07-28', capabilities: { roots: {} }, manners: project } as const;
  const client = await connect(served, wish);
  const { data } = await client.call('list_client_directory', { path: 'docs', via: 'direct' });
  const file = /^cat '(.+)'$/.exec(data?.offer.command)![1]!;
  assert.ok(existsSync(file));
  await client[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
  assert.ok(!existsSync(file));
});
