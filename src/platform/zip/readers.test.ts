import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { assemble, entriesOf, missing, run, temporaryFolder } from './archive.testing.ts';
import { createZipLayout } from './zip.ts';

const contents = [
  { name: 'plain.txt', bytes: Buffer.from('hello\n'), modified: Date.UTC(2026, 6, 1, 12, 30, 58) },
  { name: 'empty', bytes: new Uint8Array() },
  { name: 'folder/sub folder/data.bin', bytes: new Uint8Array(100_000).fill(7) },
  { name: 'grüße/日本語 – отчёт.txt', bytes: Buffer.from('ü') },
  { name: '👩‍👩‍👧.png', bytes: Buffer.from([0, 255]), modified: 0 },
  { name: '$(touch x); "quoted" \'name\'', bytes: Buffer.from('$') },
];

function written(path: string): string {
  writeFileSync(path, assemble(createZipLayout(entriesOf(contents)), contents));
  return path;
}

test("Python's zipfile reads names, bytes, times and modes", { skip: missing('python3') }, () => {
  using folder = temporaryFolder();
  const script = `
import json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(json.dumps([[i.filename, z.read(i).hex(), i.date_time, oct(i.external_attr >> 16), i.flag_bits, i.extra.hex()] for i in z.infolist()]))`;
  const { output } = run('python3', ['-c', script, written(folder.file('a.zip'))]);
  const read: unknown[][] = JSON.parse(output);
  const expected = contents.map(({ name, bytes }) => [name, Buffer.from(bytes).toString('hex')]);
  assert.deepEqual(
    read.map((fields) => fields.slice(0, 2)),
    expected,
  );
  assert.deepEqual(read[0]!.slice(2), [[2026, 7, 1, 12, 30, 58], '0o100644', 0x800, '']);
  assert.deepEqual(read[4]!.slice(2, 3), [[1980, 1, 1, 0, 0, 0]]);
});

test('unzip finds no error', { skip: missing('unzip') }, () => {
  using folder = temporaryFolder();
  const { status, output } = run('unzip', ['-t', written(folder.file('a.zip'))]);
  assert.equal(status, 0, output);
  assert.match(output, /No errors detected/);
});

test('bsdtar lists every name', { skip: missing('bsdtar') }, () => {
  using folder = temporaryFolder();
  const { status, output } = run('bsdtar', ['-tf', written(folder.file('a.zip'))]);
  assert.equal(status, 0, output);
  assert.equal(output.trimEnd().split('\n').length, contents.length);
});
