import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { collectBytes } from '../streams.ts';
import { archive, extraField, inMemory, type TestMember } from './unzip-archive.testing.ts';
import { readMember, readZipDirectory } from './unzip.ts';

const unsafe: [name: string | Buffer, why: RegExp][] = [
  ['', /empty/],
  ['.', /empty/],
  ['./', /empty/],
  ['..', /\.\./],
  ['../etc/passwd', /\.\./],
  ['a/../../b', /\.\./],
  ['a/..', /\.\./],
  ['/etc/passwd', /absolute/],
  ['//host/share', /absolute/],
  ['C:/Windows', /drive/],
  ['c:x', /drive/],
  ['./C:/x', /drive/],
  ['a\\b', /backslash/],
  ['..\\..\\b', /backslash/],
  ['a\0.txt', /NUL/],
  ['a\nb', /control/],
  ['a\x7f', /control/],
  ['a\x1b[31m', /control/],
  ['a\u0085b', /control/],
  [Buffer.from([0x61, 0x00, 0xff]), /NUL/],
  ['x'.repeat(4097), /4096 bytes/],
  ['x'.repeat(65_535), /4096 bytes/],
  ['\u6570'.repeat(1366), /4096 bytes/],
  [Buffer.alloc(3000, 0x81), /4096 bytes/],
  [`${'a/'.repeat(255)}b`, /255 parts/],
  ['a/'.repeat(256), /255 parts/],
];

test('paths as long as a system takes them are paths', async () => {
  const names = [
    'x'.repeat(4096),
    '\u6570'.repeat(1365),
    `${'a/'.repeat(254)}b`,
    'a/'.repeat(255),
    './'.repeat(400) + 'c',
  ];
  const directory = await readZipDirectory(inMemory(archive(names.map((name) => ({ name })))));
  assert.deepEqual(
    [...directory].map(({ path }) => path),
    [...names.slice(0, -1), 'c'],
  );
  assert.ok([...directory].every(({ path, index }) => directory.find(path!)?.index === index));
});

test('a name that cannot be trusted is reported with its reason, and the others are listed', async () => {
  const bytes = inMemory(archive([...unsafe.map(([name]) => ({ name })), { name: 'good.txt' }]));
  const directory = await readZipDirectory(bytes);
  for (const [index, [name, why]] of unsafe.entries()) {
    const { path, problem } = directory.at(index);
    assert.equal(path, null, String(name));
    assert.match(problem!, why);
    assert.equal(directory.find(String(name)), null);
  }
  assert.equal(directory.find('good.txt')?.index, unsafe.length);
  assert.equal((await collectBytes(readMember(bytes, directory, directory.at(4), { limit: 1 }))).length, 0);
});

const decoded: [what: string, member: TestMember, path: string][] = [
  ['UTF-8 by its flag', { name: 'grüße/日本.txt' }, 'grüße/日本.txt'],
  ['UTF-8 without the flag', { name: Buffer.from('grüße.txt') }, 'grüße.txt'],
  ['code page 437', { name: Buffer.from([0x67, 0x72, 0x81, 0xe1, 0x65]) }, 'grüße'],
  ['no UTF-8 in spite of the flag', flagged(Buffer.from([0x81, 0x41])), 'üA'],
  ['. and doubled slashes', { name: './a//./b.txt' }, 'a/b.txt'],
  ['a folder by /.', { name: 'a/b/.' }, 'a/b/'],
  ['a folder', { name: 'a/b/' }, 'a/b/'],
  ['a leading dot', { name: '.hidden/..a/...' }, '.hidden/..a/...'],
  ['a colon further on', { name: 'ab:c' }, 'ab:c'],
  ['a second name in Unicode', secondName('gr#U00fc', 'grü'), 'grü'],
  ['a second name made for another', secondName('other', 'grü', 'gone'), 'other'],
];

function flagged(name: Buffer): TestMember {
  return { name, central: { flags: 0x800 }, local: { flags: 0x800 } };
}

function secondName(name: string, second: string, madeFor = name): TestMember {
  const data = Buffer.alloc(5);
  data.writeUInt8(1);
  data.writeUInt32LE(crc32(madeFor), 1);
  return { name, central: { extra: extraField(0x7075, Buffer.concat([data, Buffer.from(second)])) } };
}

for (const [what, member, path] of decoded)
  test(`a name with ${what} is ${path}`, async () => {
    const directory = await readZipDirectory(inMemory(archive([member])));
    assert.deepEqual([directory.at(0).path, directory.at(0).problem], [path, null]);
    assert.equal(directory.find(path)?.index, 0);
    assert.equal(directory.at(0).isFolder, path.endsWith('/'));
  });

test('a second name that leads out of the archive is reported', async () => {
  const directory = await readZipDirectory(inMemory(archive([secondName('good', '../bad')])));
  assert.deepEqual([directory.at(0).path, directory.find('good')], [null, null]);
});

test('names that differ by case or Unicode form are different members', async () => {
  const names = ['Straße.txt', 'straße.txt', 'e\u0301.txt', '\u00e9.txt', 'STRASSE.txt'];
  const directory = await readZipDirectory(inMemory(archive(names.map((name) => ({ name })))));
  assert.deepEqual(
    names.map((name) => directory.find(name)?.index),
    [0, 1, 2, 3, 4],
  );
  assert.ok([...directory].every((member) => !member.isDuplicate));
});

test('of members with one path the first is found, all are marked, each is read by its index', async () => {
  const members = ['a', './a', 'b', 'a'].map((name, index) => ({ name, bytes: Buffer.from(`${index}`) }));
  const bytes = inMemory(archive(members));
  const directory = await readZipDirectory(bytes);
  assert.equal(directory.find('a')?.index, 0);
  assert.deepEqual(
    [...directory].map((member) => member.isDuplicate),
    [true, true, false, true],
  );
  for (const member of directory)
    assert.equal(
      String(await collectBytes(readMember(bytes, directory, member, { limit: 1 }))),
      `${member.index}`,
    );
});

test('no path has .., a root, a drive, a backslash, a NUL or an empty part, whatever the name', async () => {
  const part = fc.constantFrom('..', '.', '', 'a', 'C:', '\\', '\0', 'ü', '…', '\u202e', '\ud800', ' ');
  const name = fc.oneof(
    fc.array(part, { maxLength: 6 }).map((parts) => parts.join('/')),
    fc.array(part, { maxLength: 6 }).map((parts) => parts.join('')),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(name, { maxLength: 8 }), async (names) => {
      const directory = await readZipDirectory(inMemory(archive(names.map((name) => ({ name })))));
      assert.equal(directory.length, names.length);
      for (const { path, problem } of directory) {
        assert.equal(path === null, problem !== null);
        if (path === null) continue;
        assert.doesNotMatch(path, /^[/\\]|^[a-z]:|[\\\0]|\/\//i);
        assert.ok(!path.split('/').some((part) => part === '..' || part === '.'));
        assert.equal(directory.find(path)?.path, path);
      }
    }),
    { numRuns: 300 },
  );
  recordProof('B6:safe-posix-paths');
});
