import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, link, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { collectBytes } from '../../../platform/streams.ts';
import { chunksOf } from '../../../ports/storage/bytes.testing.ts';
import { everything, sourceContract, type TestSource } from '../../../ports/storage/source.contract.ts';
import { createFolderSource } from './folder-source.ts';
import { fill, testFolder } from './folder-source.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const namesIn = async ({ source }: TestSource): Promise<string[]> =>
  (await everything(source)).map(({ name }) => name);

sourceContract('folder', testFolder);

it('a folder that is not there is not reachable, and never an empty one', async () => {
  await using test = await testFolder();
  await test.write('x', Buffer.from('x'));
  const source = createFolderSource(join(test.directory, 'nowhere'));
  const file = createFolderSource(join(test.directory, 'x'));
  for (const gone of [source, file]) {
    for (const work of [
      () => gone.list(),
      () => gone.list({ prefix: 'a/' }),
      () => gone.stat('x'),
      () => gone.open('x'),
      () => gone.put('x', 1, chunksOf(Buffer.from('x'))),
    ])
      await assert.rejects(work, { code: 'source_unreachable' });
  }
  assert.deepEqual(await readdir(test.directory), ['x']);
  recordProof('B11:source-not-reachable');
});

it('follows no link, opens nothing but regular files, and counts what it passes over', async () => {
  await using test = await testFolder();
  const { directory, source } = test;
  await test.write('real/a.zip', Buffer.from('a'));
  await test.write('.git/b.zip', Buffer.from('b'));
  await symlink('/etc/passwd', join(directory, 'link.zip'));
  await symlink(join(directory, 'real'), join(directory, 'linked'));
  await symlink('loop', join(directory, 'loop'));
  execFileSync('mkfifo', [join(directory, 'pipe.zip')]);
  execFileSync('sh', ['-c', String.raw`printf x >"$(printf '%s/\377.zip' "$0")"`, directory]);
  const { objects, passedOver } = await source.list();
  assert.deepEqual(
    objects.map(({ name }) => name),
    ['real/a.zip'],
  );
  assert.equal(passedOver, 5);
  for (const name of ['link.zip', 'linked/a.zip', 'loop', 'pipe.zip', 'real'])
    assert.equal(await source.open(name), null, name);
});

it('writes through no link', async () => {
  await using test = await testFolder();
  await using elsewhere = await testFolder();
  await symlink(elsewhere.directory, join(test.directory, 'users'));
  await assert.rejects(test.source.put('users/x.zip', 1, chunksOf(Buffer.from('x'))), {
    code: 'source_unreachable',
  });
  await symlink(join(elsewhere.directory, 'new'), join(test.directory, 'dead.zip'));
  await assert.rejects(test.source.put('dead.zip', 1, chunksOf(Buffer.from('x'))), {
    code: 'already_exists',
  });
  assert.deepEqual(await readdir(elsewhere.directory), []);
});

it('lists by whole names in the order of their bytes, also from a page whose walk is not held any more', async () => {
  await using test = await testFolder();
  const names = ['a-b/x', 'a.txt', 'a/b', 'a/b.d/c', 'a/b0', 'a0', '\uff5e', '\u{1f4e6}/z'];
  for (let at = 0; at < 1100; at++) names.push(`a/m/${at}`);
  fill(test, names);
  const sorted = names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual(await namesIn(test), sorted);
  const { objects, next } = await test.source.list();
  const rest = await createFolderSource(test.directory).list({ after: next! });
  assert.deepEqual(
    [...objects, ...rest.objects].map(({ name }) => name),
    sorted,
  );
  // A folder that vanishes before its turn takes nothing else with it.
  await rm(join(test.directory, 'a0'));
  await rm(join(test.directory, '\u{1f4e6}'), { recursive: true });
  const last = await test.source.list({ after: next! });
  assert.deepEqual(last.objects.at(-1)?.name, '\uff5e');
});

it('a folder that may not be read is counted, and one file that may not be read is told', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may read everywhere');
  await using test = await testFolder();
  await test.write('closed/x.zip', Buffer.from('x'));
  await test.write('open/x.zip', Buffer.from('x'));
  await chmod(join(test.directory, 'closed'), 0);
  await chmod(join(test.directory, 'open/x.zip'), 0);
  const { objects, passedOver } = await test.source.list();
  assert.deepEqual([objects.map(({ name }) => name), passedOver], [['open/x.zip'], 1]);
  await assert.rejects(test.source.open('open/x.zip'), { code: 'unsupported' });
  const forbidden = test.source.put('closed/y.zip', 1, chunksOf(Buffer.from('y')));
  await assert.rejects(forbidden, { code: 'storage_read_only' });
  await chmod(join(test.directory, 'closed'), 0o700);
});

it('bytes changed in place, cut off, or exchanged with their time set back are noticed', async () => {
  await using test = await testFolder();
  const { source, directory } = test;
  const changes: ((path: string) => Promise<unknown>)[] = [
    (path) => writeFile(path, 'other bytes'),
    (path) => writeFile(path, ''),
    async (path) => {
      await writeFile(`${path}.new`, 'exchange it');
      execFileSync('touch', ['-r', path, `${path}.new`]);
      await rename(`${path}.new`, path);
    },
    async (path) => {
      execFileSync('touch', ['-r', path, `${path}.time`]);
      await writeFile(path, 'written at!');
      execFileSync('touch', ['-r', `${path}.time`, path]);
    },
  ];
  for (const change of changes) {
    await test.write('x.zip', Buffer.from('hello bytes'));
    await using open = (await source.open('x.zip'))!;
    assert.equal((await collectBytes(open.read(0, 5))).toString(), 'hello');
    // The clock of a filesystem goes by ticks of some milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await change(join(directory, 'x.zip'));
    await assert.rejects(collectBytes(open.read(5, 11)), { code: 'crate_changed' });
  }
});

it('leaves nothing behind where a name is taken meanwhile', async () => {
  await using test = await testFolder();
  const { source, directory } = test;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('m');
    await test.write('u/x.zip', Buffer.from('theirs'));
    await link(join(directory, 'u/x.zip'), join(directory, 'u/y.zip'));
    yield Buffer.from('y');
  }
  await assert.rejects(source.put('u/x.zip', 2, bytes()), { code: 'already_exists' });
  assert.deepEqual((await readdir(join(directory, 'u'))).sort(), ['x.zip', 'y.zip']);
  await using open = (await source.open('u/x.zip'))!;
  assert.equal((await collectBytes(open.read(0, open.size))).toString(), 'theirs');
});
