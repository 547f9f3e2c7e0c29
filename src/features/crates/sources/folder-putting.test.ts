import assert from 'node:assert/strict';
import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { openBelow, type FolderRoot } from '../../../platform/paths/paths.ts';
import { chunksOf } from '../../../ports/storage/bytes.testing.ts';
import { putSourceFile } from './folder-put.ts';
import type { SourceFolder } from './folder-read.ts';
import { testFolder } from './folder-source.testing.ts';

const put = (folder: SourceFolder, name: string, text: string) =>
  putSourceFile(folder, name, text.length, chunksOf(Buffer.from(text)));

/** A folder whose filesystem answers so when a file is to have a second name. */
function answering(directory: string, errno: string | null): SourceFolder {
  const root = openBelow(directory);
  const link: FolderRoot['link'] = () => {
    const cause = Object.assign(new Error(errno!), { code: errno });
    throw new WorkcrateError('path_refused', 'no', { cause, details: { kind: 'denied' } });
  };
  return { url: 'file:///x/', directory, root: errno === null ? root : { ...root, link } };
}

for (const errno of [null, 'EPERM', 'ENOTSUP', 'EMLINK']) {
  it(`what is put has its name whole and once, and takes no other's (${errno ?? 'hard links'})`, async () => {
    await using test = await testFolder();
    const folder = answering(test.directory, errno);
    const object = await put(folder, 'u/x.zip', 'mine');
    assert.deepEqual(await test.source.stat('u/x.zip'), object);
    assert.equal((await stat(join(test.directory, 'u/x.zip'))).nlink, 1);
    await assert.rejects(put(folder, 'u/x.zip', 'other'), { code: 'already_exists' });
    assert.deepEqual(await readdir(join(test.directory, 'u')), ['x.zip']);
    assert.deepEqual(await test.source.stat('u/x.zip'), object);
  });
}

it('another failure to give the name leaves nothing behind', async () => {
  await using test = await testFolder();
  const folder = answering(test.directory, 'ENOSPC');
  await assert.rejects(put(folder, 'x.zip', 'mine'), { code: 'storage_full' });
  assert.deepEqual(await readdir(test.directory), []);
});

it('a disk that fails is told as such, and users are not told where its folder is', async () => {
  await using test = await testFolder();
  const failed = await put(answering(test.directory, 'EIO'), 'x.zip', 'mine').catch(
    (error: unknown) => error,
  );
  assert.ok(isWorkcrateError(failed, 'storage_failed'), String(failed));
  assert.match(failed.message, /EIO.*Check the disk/);
  assert.equal(failed.message.includes('file:'), false);
  assert.deepEqual(await readdir(test.directory), []);
});

it('what a process that died has left in the folder is removed a day later, and nothing else', async () => {
  await using test = await testFolder();
  const part = (digit: string): string => `.workcrate-${digit.repeat(24)}.part`;
  const old = [part('a'), part('b'), `${part('c')}.zip`, '.workcrate-notes.part'];
  for (const name of [...old, part('d'), `other/${part('e')}`]) await test.write(name, Buffer.from('x'));
  const yesterday = Date.now() / 1000 - 24 * 60 * 60 - 5;
  for (const name of [...old, `other/${part('e')}`]) await utimes(join(test.directory, name), 0, yesterday);
  await writeFile(join(test.directory, 'old.zip'), 'old');
  await utimes(join(test.directory, 'old.zip'), 0, yesterday);
  await put(answering(test.directory, null), 'x.zip', 'mine');
  const kept = ['.workcrate-notes.part', `${part('c')}.zip`, part('d'), 'old.zip', 'other', 'x.zip'];
  assert.deepEqual((await readdir(test.directory)).sort(), kept.sort());
  assert.deepEqual(await readdir(join(test.directory, 'other')), [part('e')]);
});
