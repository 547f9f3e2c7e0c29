import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { diskStorage } from './disk.ts';
import { storageContract } from './storage.contract.ts';

async function temporary() {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-disk-'));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

storageContract('disk', async () => {
  const place = await temporary();
  const storage = await diskStorage(place.folder);
  return { ...storage, [Symbol.asyncDispose]: place[Symbol.asyncDispose] };
});

const one = async function* () {
  yield Buffer.from('1');
};

it('keeps its files readable by its own user alone', async () => {
  await using place = await temporary();
  const storage = await diskStorage(place.folder);
  await storage.staging.append('x', 0, one());
  await storage.staging.commit('x', 'a/b');
  assert.equal((await stat(join(place.folder, 'objects/a/b.bin'))).mode & 0o777, 0o600);
  assert.equal((await stat(join(place.folder, 'objects'))).mode & 0o777, 0o700);
});

it('refuses keys and ids that could leave its folder', async () => {
  await using place = await temporary();
  const storage = await diskStorage(place.folder);
  for (const key of ['../x', 'a/../b', '/a', 'a//b', 'a/', 'A', 'a.b', 'a\0', ''])
    await assert.rejects(async () => storage.stat(key), { code: 'invalid_input' }, key);
  await assert.rejects(async () => storage.staging.size('../x'), { code: 'invalid_input' });
});

it('passes over what others have put into its folders', async () => {
  await using place = await temporary();
  const storage = await diskStorage(place.folder);
  await storage.staging.append('x', 0, one());
  await storage.staging.commit('x', 'a/b');
  for (const stray of [
    'objects/Foo.bin',
    'objects/a/._b.bin',
    'objects/x (1).bin',
    'objects/.bin',
    'staging/Foo.part',
  ])
    await writeFile(join(place.folder, stray), '');
  await mkdir(join(place.folder, 'staging/y.part'));
  assert.deepEqual(
    (await storage.list()).objects.map((object) => object.key),
    ['a/b'],
  );
  assert.deepEqual(await storage.staging.list(), []);
});

it('holds what it knows after it was opened again', async () => {
  await using place = await temporary();
  const first = await diskStorage(place.folder);
  await first.staging.append('half', 0, one());
  await first.staging.append('whole', 0, one());
  await first.staging.commit('whole', 'kept');
  const second = await diskStorage(place.folder);
  assert.equal(await second.staging.size('half'), 1);
  assert.equal((await second.stat('kept'))?.size, 1);
});

it('tells a folder that it may not write to from other failures', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may write everywhere');
  await using place = await temporary();
  const storage = await diskStorage(place.folder);
  await chmod(join(place.folder, 'staging'), 0o500);
  await assert.rejects(storage.probe(), { code: 'storage_read_only' });
  await chmod(join(place.folder, 'staging'), 0o700);
  assert.deepEqual(await readdir(join(place.folder, 'staging')), []);
});
