import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { startTimeSlices } from '../concurrency/yield.ts';
import { collectBytes } from '../streams.ts';
import { slimDirectory } from './scan.ts';
import { archive, extraField, inMemory, zip64Field, type TestMember } from './unzip-archive.testing.ts';
import { readMember, readZipDirectory } from './unzip.ts';

const text = Buffer.from('some text');
const unknown = extraField(0x9999, Buffer.alloc(30_000, 1));
const second = (name: string): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt8(1);
  head.writeUInt32LE(crc32(name), 1);
  return extraField(0x7075, Buffer.concat([head, Buffer.from('grüße.txt')]));
};
const time = extraField(0x5455, Buffer.from([1, 0, 0, 0, 1]));

const plain: readonly (TestMember & { readonly needed?: Buffer[] })[] = [
  { name: 'a.txt', bytes: text },
  { name: 'wide.txt', bytes: text, needed: [zip64Field(9)], central: { size: 0xffffffff } },
  { name: 'second', bytes: text, needed: [second('second'), time] },
  { name: '../up', bytes: text },
  { name: 'a.txt', bytes: text, method: 8, needed: [time] },
  ...Array.from({ length: 30 }, (_, at) => ({ name: `folder/${at}`, bytes: text })),
];

const withExtras = (wordy: boolean): Buffer =>
  archive(
    plain.map(({ needed = [], ...member }) => {
      const fields = wordy ? [unknown, ...needed.flatMap((one) => [one, unknown])].slice(0, 4) : needed;
      const comment = wordy ? 'x'.repeat(65_535) : '';
      return { ...member, central: { ...member.central, extra: trimmed(fields), comment } };
    }),
  );

/** At most 64 KiB, of which the last bytes are no field. */
const trimmed = (fields: readonly Buffer[]): Buffer => Buffer.concat(fields).subarray(0, 65_535);

test('of comments and unknown fields nothing is kept, and all else is as it was', async () => {
  const slim = await readZipDirectory(inMemory(withExtras(false)));
  const bytes = inMemory(withExtras(true));
  const wordy = await readZipDirectory(bytes);
  assert.deepEqual([...wordy], [...slim]);
  assert.equal(wordy.heldBytes, slim.heldBytes);
  assert.ok(wordy.heldBytes < plain.length * 200, String(wordy.heldBytes));
  for (const name of ['grüße.txt', 'wide.txt', 'folder/29']) assert.ok(wordy.find(name) !== null, name);
  for (const member of wordy)
    assert.deepEqual(await collectBytes(readMember(bytes, wordy, member, { limit: 100 })), text);
});

test('room is asked for before a directory is read, and none is read where there is none', async () => {
  const bytes = inMemory(withExtras(true));
  const asked: number[] = [];
  const reserve = async (size: number): Promise<void> => {
    asked.push(size);
    throw new Error('no room');
  };
  await assert.rejects(readZipDirectory(bytes, { reserve }), /no room/);
  assert.equal(bytes.asked.length, 1);
  assert.ok(asked[0]! > plain.length * 65_535);
});

test('what a directory was read into is given back once it is slim', async () => {
  const zip = archive([{ name: 'a', central: { comment: 'x'.repeat(1000) } }]);
  const start = zip.indexOf('PK\x01\x02');
  const whole = Buffer.allocUnsafeSlow(46 + 1 + 1000);
  zip.copy(whole, 0, start);
  const kept = await slimDirectory(whole, new Uint32Array(1), startTimeSlices());
  assert.deepEqual([kept.length, whole.length], [47, 0]);
});
