import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../../platform/eventually.testing.ts';
import { archive } from '../../../platform/zip/unzip-archive.testing.ts';
import { testFolder } from './folder-source.testing.ts';
import { createZipDirectoryCache } from './zip-container.ts';

/** 1,000 bytes of names in each, some 1,200 in memory. */
const names = Array.from({ length: 4 }, (_, at) => `${at}${'x'.repeat(249)}`);
const limits = { keptBytes: 4000, kept: 10, usedBytes: 3500, smallBytes: 0 };

async function openFolder(given: Partial<typeof limits> = {}, comment = '') {
  const folder = await testFolder();
  const zip = archive(names.map((name) => ({ name, central: { comment } })));
  for (let at = 0; at < 6; at++) await folder.write(`${at}.zip`, zip);
  await folder.write('small.zip', archive([{ name: 'a' }]));
  const directories = createZipDirectoryCache({ ...limits, ...given });
  let reads = 0;
  return {
    memory: directories.memory,
    /** How many reads it took to know it. */
    async use(name: string) {
      const before = reads;
      await using object = (await folder.source.open(name))!;
      const read: typeof object.read = (...range) => (reads++, object.read(...range));
      const known = await directories.of(folder.source, { ...object, size: object.size, read });
      return { known, reads: reads - before };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

type Folder = Awaited<ReturnType<typeof openFolder>>;

async function readsFor({ use }: Folder, name: string): Promise<number> {
  const { known, reads } = await use(name);
  known[Symbol.dispose]();
  return reads;
}

it('directories are kept by the bytes they take, those used last', async () => {
  await using folder = await openFolder();
  for (const name of ['0.zip', '1.zip', '2.zip', '0.zip', '3.zip']) await readsFor(folder, name);
  assert.equal(await readsFor(folder, '0.zip'), 0);
  assert.equal(await readsFor(folder, '3.zip'), 0);
  assert.ok((await readsFor(folder, '1.zip')) > 0);
});

it('one that takes more than all may is not kept, and drops no other', async () => {
  await using folder = await openFolder({ keptBytes: 1000 });
  for (const name of ['small.zip', '0.zip']) assert.ok((await readsFor(folder, name)) > 0);
  assert.ok((await readsFor(folder, '0.zip')) > 0);
  assert.equal(await readsFor(folder, 'small.zip'), 0);
});

it('directories in use at a time are bounded: the next is read when one is done with', async () => {
  await using folder = await openFolder({ keptBytes: 0 });
  const [first, second] = [await folder.use('0.zip'), await folder.use('1.zip')];
  const third = folder.use('2.zip');
  await eventually(() => folder.memory.waiting > 0);
  assert.equal(folder.memory.waiting, 1);
  first.known[Symbol.dispose]();
  for (const { known } of [second, await third]) known[Symbol.dispose]();
  assert.equal(folder.memory.free, limits.usedBytes);
});

it('comments take memory only while they are read, and a failure gives back what it took', async () => {
  await using folder = await openFolder({ usedBytes: 100_000 }, 'x'.repeat(20_000));
  const { known } = await folder.use('0.zip');
  assert.ok(folder.memory.free > 95_000, String(folder.memory.free));
  known[Symbol.dispose]();
  await assert.rejects(folder.use('missing.zip'));
  assert.equal(folder.memory.free, 100_000);
});
