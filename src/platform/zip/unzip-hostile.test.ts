import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { collectBytes } from '../streams.ts';
import { archive, extraField, inMemory, zip64Field, type TestMember } from './unzip-archive.testing.ts';
import { readMember, readZipDirectory, findStoredRange } from './unzip.ts';

const text = Buffer.from('some text, some text, some text\n');
const one = { name: 'a.txt', bytes: text };
const two = { name: 'b.txt', bytes: text, method: 8 };
const whole = archive([one, two]);
const nested = archive([{ name: 'inner.txt', bytes: text }]);

const refused: [what: string, bytes: Buffer, code: string][] = [
  ['an empty file', Buffer.alloc(0), 'not_a_zip'],
  ['some text', Buffer.from('no archive at all'), 'not_a_zip'],
  ['a long file of zeros', Buffer.alloc(200_000), 'not_a_zip'],
  ['a gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), 'not_a_zip'],
  ['a zip without its last byte', archive([one], { comment: 'x' }).subarray(0, -1), 'zip_truncated'],
  ['a zip without its end record', whole.subarray(0, -22), 'zip_truncated'],
  ['a zip cut in its first member', whole.subarray(0, 40), 'zip_truncated'],
  ['a zip without its first bytes', whole.subarray(10), 'zip_truncated'],
  ['a zip cut right behind a zip in it', cutBehindInner(0), 'zip_damaged'],
  ['a zip cut some way behind a zip in it', cutBehindInner(40), 'zip_truncated'],
  ['bytes behind the end', archive([one], { behind: Buffer.from('\n') }), 'zip_damaged'],
  ['an end in the comment of the end', archive([one], { comment: archive([]) }), 'zip_damaged'],
  ['two archives one behind the other', Buffer.concat([whole, whole]), 'zip_damaged'],
  ['more members than are there', archive([one, two], { count: 3 }), 'zip_damaged'],
  ['fewer members than are there', archive([one, two], { count: 1 }), 'zip_damaged'],
  ['far more members than fit', archive([one], { count: 60_000 }), 'zip_damaged'],
  ['a directory beyond the end', archive([one], { offset: 5000 }), 'zip_truncated'],
  ['a directory larger than the file', archive([one], { size: 0xfffffff0 }), 'zip_truncated'],
  ['a directory that is not there', archive([one, two], { offset: 3 }), 'zip_damaged'],
  ['a part of several', archive([one], { disk: 1 }), 'unsupported'],
  ['a member of another part', archive([{ ...one, central: { disk: 2 } }]), 'unsupported'],
  ['the same bytes as two members', archive([one, { ...one, central: { offset: 0 } }]), 'zip_damaged'],
  ['a member within another', withInner(), 'zip_damaged'],
  ['a member that begins in the directory', archive([{ ...one, central: { offset: 100 } }]), 'zip_damaged'],
  [
    'a member larger than the file',
    archive([{ ...one, central: { compressedSize: 9999, size: 9999 } }]),
    'zip_damaged',
  ],
  ['a size without its ZIP64 field', archive([{ ...one, central: { size: 0xffffffff } }]), 'zip_damaged'],
  [
    'a ZIP64 field that is too short',
    archive([{ ...one, wide: true, central: { extra: zip64Field(text.length) } }]),
    'zip_damaged',
  ],
  [
    'a ZIP64 number beyond 2^53',
    archive([{ ...one, wide: true, central: { extra: extraField(1, Buffer.alloc(24, 0xff)) } }]),
    'zip_damaged',
  ],
  ['another count in the ZIP64 record', archive([one], { wide: true, wideCount: 2 }), 'zip_damaged'],
  [
    'a count beyond 2^32 in the ZIP64 record',
    archive([one], { wide: true, wideCount: 2 ** 40 }),
    'zip_damaged',
  ],
  ['a ZIP64 record further on than its end', archive([one], { wide: true, astray: 9999 }), 'zip_truncated'],
  [
    'a ZIP64 record that is not where it should be',
    archive([one], { wide: true, astray: -9 }),
    'zip_damaged',
  ],
  ['end records that disagree', disagreeing(), 'zip_damaged'],
  [
    'an encrypted directory',
    archive([one], { wide: true, wideVersion: 62, wideMore: Buffer.alloc(28) }),
    'zip_encrypted',
  ],
];

for (const [what, bytes, code] of refused)
  test(`${what} is ${code}`, async () => {
    await assert.rejects(readZipDirectory(inMemory(bytes)), { name: 'WorkcrateError', code });
  });

/** The archive ends with its last member, a whole zip, and some bytes that follow that. */
function cutBehindInner(more: number): Buffer {
  const outer = archive([one, { name: 'inner.zip', bytes: nested }, two]);
  return outer.subarray(0, outer.indexOf(nested) + nested.length + more);
}

function withInner(): Buffer {
  const header = archive([one]).subarray(0, 35 + text.length);
  const outer = { name: 'outer', bytes: Buffer.concat([header, text]) };
  return archive([outer, { ...one, central: { offset: 35 } }]);
}

function disagreeing(): Buffer {
  const bytes = archive([one], { wide: true });
  bytes.writeUInt16LE(7, bytes.length - 22 + 10);
  return bytes;
}

const deflated = deflateRawSync(text);
const unreadable: [what: string, member: TestMember, code: string][] = [
  ['a wrong CRC', { ...one, local: { crc32: 1 }, central: { crc32: 1 } }, 'zip_damaged'],
  ['a wrong CRC of compressed bytes', { ...two, local: { crc32: 1 }, central: { crc32: 1 } }, 'zip_damaged'],
  ['a wrong CRC where sizes follow', { ...two, streamed: true, central: { crc32: 1 } }, 'zip_damaged'],
  ['another CRC in the local header', { ...one, local: { crc32: 1 } }, 'zip_damaged'],
  ['another name in the local header', { ...one, local: { name: 'bad.tex' } }, 'zip_damaged'],
  ['a longer name in the local header', { ...one, local: { name: 'bad.txt2' } }, 'zip_damaged'],
  ['another method in the local header', { ...two, local: { method: 0 } }, 'zip_damaged'],
  ['another size in the local header', { ...two, local: { size: 1 } }, 'zip_damaged'],
  ['another packed size in the local header', { ...two, local: { compressedSize: 1 } }, 'zip_damaged'],
  ['a local header that is encrypted alone', { ...one, local: { flags: 0x801 } }, 'zip_damaged'],
  ['no local header', { ...one, local: { signature: 0x12345678 } }, 'zip_damaged'],
  ['no ZIP64 field in the local header', { ...one, local: { size: 0xffffffff } }, 'zip_damaged'],
  ['a smaller size than it inflates to', sized(two, text.length - 1), 'zip_damaged'],
  ['a larger size than it inflates to', sized(two, text.length + 1), 'zip_damaged'],
  ['a size that no deflate reaches', sized(two, 1_000_000), 'zip_damaged'],
  ['two sizes though it is stored', { ...one, central: { size: 3 }, local: { size: 3 } }, 'zip_damaged'],
  ['bytes that are not deflated', { ...two, packed: Buffer.from('\xff\xff\xff\xff') }, 'zip_damaged'],
  ['deflated bytes that end early', { ...two, packed: deflated.subarray(0, -1) }, 'zip_damaged'],
  ['bytes behind the deflated ones', { ...two, packed: Buffer.concat([deflated, text]) }, 'zip_damaged'],
  ['no deflated bytes at all', { ...two, packed: Buffer.alloc(0) }, 'zip_damaged'],
  ['deflate64', { ...two, method: 9 }, 'unsupported'],
  ['zstd', { ...two, method: 93 }, 'unsupported'],
  ['encryption', { ...one, central: { flags: 0x801 }, local: { flags: 0x801 } }, 'zip_encrypted'],
  ['AES encryption', { ...one, method: 99, central: { flags: 1 }, local: { flags: 1 } }, 'zip_encrypted'],
];

function sized(member: TestMember, size: number): TestMember {
  return { ...member, central: { size }, local: { size } };
}

for (const [what, member, code] of unreadable)
  test(`a member with ${what} is ${code}, and the others are read`, async () => {
    const bytes = inMemory(archive([one, { ...member, name: 'bad.txt' }, two]), 7);
    const directory = await readZipDirectory(bytes);
    const bad = directory.at(1);
    await assert.rejects(collectBytes(readMember(bytes, directory, bad, { limit: 10_000_000 })), {
      name: 'WorkcrateError',
      code,
    });
    for (const index of [0, 2])
      assert.deepEqual(
        await collectBytes(readMember(bytes, directory, directory.at(index), { limit: 100 })),
        text,
      );
    assert.equal(bytes.underWay(), 0);
    recordProof('B7:sizes-and-crc-agree', 'B11:encrypted');
  });

test('a local header that says it goes on into the next member is refused', async () => {
  const zip = archive([one, two]);
  zip.writeUInt16LE(20, 28);
  const bytes = inMemory(zip);
  const directory = await readZipDirectory(bytes);
  const damaged = { code: 'zip_damaged' };
  await assert.rejects(collectBytes(readMember(bytes, directory, directory.at(0), { limit: 100 })), damaged);
  await assert.rejects(findStoredRange(bytes, directory, directory.at(0)), damaged);
});

test('of a member with a wrong CRC the last chunk is never given', async () => {
  const bytes = inMemory(archive([{ ...one, local: { crc32: 1 }, central: { crc32: 1 } }]), 16);
  const directory = await readZipDirectory(bytes);
  let given = 0;
  await assert.rejects(async () => {
    for await (const chunk of readMember(bytes, directory, directory.at(0), { limit: 100 }))
      given += chunk.length;
  });
  assert.ok(given < text.length, `${given} bytes`);
  recordProof('B7:sizes-and-crc-agree');
});

test('more members or a larger directory than allowed are too_large, before they are read', async () => {
  const bytes = inMemory(archive(Array.from({ length: 2000 }, (_, index) => ({ name: `file-${index}` }))));
  await assert.rejects(readZipDirectory(bytes, { mostMembers: 1999 }), { code: 'too_large' });
  await assert.rejects(readZipDirectory(bytes, { mostDirectoryBytes: 10_000 }), { code: 'too_large' });
  assert.equal(bytes.asked.length, 2);
  assert.equal((await readZipDirectory(bytes, { mostMembers: 2000 })).length, 2000);
  recordProof('B11:too-large');
});
