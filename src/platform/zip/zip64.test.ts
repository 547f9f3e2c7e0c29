import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { missing, run, temporaryFolder, writeSparse } from './archive.testing.ts';
import { createZipLayout, type ZipEntry, type ZipLayout } from './zip.ts';

const GIB = 2 ** 30;
const LIMIT = 2 ** 32 - 1;
const PLAIN_RECORDS = 30 + 46;

function entry(name: string, size: number, sum = 0): ZipEntry {
  return { name, size, crc32: sum, modified: Date.UTC(2026, 6, 1) };
}

const ZEROS = new Uint8Array(2 ** 24);

function crcOfZeros(size: number): number {
  let sum = 0;
  for (let left = size; left > 0; left -= ZEROS.length) sum = crc32(ZEROS.subarray(0, left), sum);
  return sum;
}

/** How many bytes the archive holds beyond the data and the records of a ZIP without ZIP64. */
function zip64Bytes(entries: readonly ZipEntry[]): number {
  const plain = entries.reduce((sum, { name, size }) => sum + size + PLAIN_RECORDS + 2 * name.length, 22);
  return createZipLayout(entries).size - plain;
}

function signatureAtEnd(layout: ZipLayout, fromEnd: number): string {
  const [part] = layout.parts(layout.size - fromEnd, layout.size - fromEnd + 4);
  assert.ok(part !== undefined && 'bytes' in part);
  return Buffer.from(part.bytes).toString('latin1');
}

test('65,534 entries need no ZIP64, one more does', () => {
  const entries = Array.from({ length: 65_535 }, (_, i) => entry(`${i}`, 0));
  assert.equal(zip64Bytes(entries.slice(1)), 0);
  assert.equal(zip64Bytes(entries), 56 + 20);
  assert.equal(signatureAtEnd(createZipLayout(entries), 22 + 20 + 56), 'PK\x06\x06');
});

test('an entry needs ZIP64 from 4 GiB - 1 on', () => {
  // Either way the directory begins beyond 4 GiB, which takes the 76 bytes of ZIP64 end records.
  assert.equal(zip64Bytes([entry('a', LIMIT - 1)]), 76);
  assert.equal(zip64Bytes([entry('a', LIMIT)]), 76 + 20 + 20);
});

test('an offset needs ZIP64 from 4 GiB - 1 on', () => {
  const before = LIMIT - 31;
  assert.equal(zip64Bytes([entry('a', before - 1), entry('b', 0)]), 76);
  assert.equal(zip64Bytes([entry('a', before), entry('b', 0)]), 76 + 12);
  assert.equal(zip64Bytes([entry('a', before), entry('b', LIMIT)]), 76 + 20 + 28);
});

test("the directory's offset needs ZIP64 from 4 GiB - 1 on", () => {
  assert.equal(zip64Bytes([entry('a', LIMIT - 32)]), 0);
  assert.equal(zip64Bytes([entry('a', LIMIT - 31)]), 76);
});

test('Python reads back 70,000 entries', { skip: missing('python3') }, () => {
  using folder = temporaryFolder();
  const layout = createZipLayout(
    Array.from({ length: 70_000 }, (_, i) => entry(`folder/${i}.txt`, i % 3, crcOfZeros(i % 3))),
  );
  writeSparse(folder.file('many.zip'), layout);
  const script =
    'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(len(z.namelist()), z.testzip())';
  assert.equal(run('python3', ['-c', script, folder.file('many.zip')]).output, '70000 None\n');
});

function writeLarge(path: string): void {
  const entries = [
    entry('first', 10, crcOfZeros(10)),
    entry('huge.bin', 4 * GIB + 5, crcOfZeros(4 * GIB + 5)),
    entry('ü', 0),
    entry('last.bin', 1000, crcOfZeros(1000)),
  ];
  writeSparse(path, createZipLayout(entries));
}

test('Python reads an entry over 4 GiB, and one behind it', { skip: missing('python3') }, () => {
  using folder = temporaryFolder();
  writeLarge(folder.file('large.zip'));
  const script = `
import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
print([(i.filename, i.file_size, i.header_offset) for i in z.infolist()])
with z.open('huge.bin') as huge: assert huge.read(100) == bytes(100)
assert z.read('first') == bytes(10) and z.read('last.bin') == bytes(1000) and z.read('ü') == b''`;
  const { status, output } = run('python3', ['-c', script, folder.file('large.zip')]);
  assert.equal(status, 0, output);
  assert.match(output, /'huge\.bin', 4294967301, 45\).*'last\.bin', 1000, 4294967436\)/);
});

test('unzip finds no error before or behind an entry over 4 GiB', { skip: missing('unzip') }, () => {
  using folder = temporaryFolder();
  writeLarge(folder.file('large.zip'));
  // The large entry itself passes too, but takes half a minute.
  const { status, output } = run('unzip', ['-t', folder.file('large.zip'), 'first', 'last.bin']);
  assert.equal(status, 0, output);
  assert.match(output, /No errors detected .* for the 2 files tested/);
});
