import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { collectBytes } from '../streams.ts';
import { temporaryFolder, writeSparse } from './archive.testing.ts';
import { onDisk } from './unzip-archive.testing.ts';
import { readMember, readZipDirectory, findStoredRange } from './unzip.ts';
import { createZipLayout } from './zip.ts';

const GIB = 1024 ** 3;

function zeros(name: string, size: number) {
  return {
    name,
    size,
    crc32: size > 10_000 ? 0 : crc32(new Uint8Array(size)),
    modified: Date.UTC(2026, 6, 1),
  };
}

test('members beyond 4 GiB, before and behind one that is larger, are listed and read', async () => {
  using folder = temporaryFolder();
  const entries = [zeros('first', 10), zeros('huge.bin', 5 * GIB), zeros('last.bin', 1000), zeros('ü', 0)];
  writeSparse(folder.file('large.zip'), createZipLayout(entries));
  using bytes = onDisk(folder.file('large.zip'));
  const directory = await readZipDirectory(bytes);
  assert.deepEqual(
    [...directory].map(({ path, size, modified }) => ({ name: path, size, modified })),
    entries.map(({ name, size, modified }) => ({ name, size, modified })),
  );
  for (const name of ['first', 'last.bin', 'ü']) {
    const member = directory.find(name)!;
    const read = await collectBytes(readMember(bytes, directory, member, { limit: 1000 }));
    assert.ok(read.equals(Buffer.alloc(member.size)));
  }
  const range = (await findStoredRange(bytes, directory, directory.find('huge.bin')!))!;
  assert.equal(range.end - range.start, 5 * GIB);
});

test('70,000 members are listed by three reads, and each is found', async () => {
  using folder = temporaryFolder();
  const entries = Array.from({ length: 70_000 }, (_, index) => zeros(`folder/${index}.txt`, index % 3));
  writeSparse(folder.file('many.zip'), createZipLayout(entries));
  using bytes = onDisk(folder.file('many.zip'));
  const directory = await readZipDirectory(bytes);
  assert.equal(directory.length, 70_000);
  assert.ok(bytes.asked.length <= 3);
  assert.ok(entries.every(({ name }, index) => directory.find(name)?.index === index));
  assert.equal(directory.find('folder/70000.txt'), null);
});
