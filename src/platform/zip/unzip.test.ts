import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { collectBytes } from '../streams.ts';
import { archive, extraField, inMemory, onDisk } from './unzip-archive.testing.ts';
import { listedByYauzl } from './unzip-oracle.testing.ts';
import { readMember, readZipDirectory, findStoredRange } from './unzip.ts';

const zips = join(import.meta.dirname, '../../../fixtures/crates/zips');
const limit = 2 ** 30;

for (const name of readdirSync(zips))
  test(`${name} has the members and the bytes that yauzl finds`, async () => {
    using bytes = onDisk(join(zips, name));
    const directory = await readZipDirectory(bytes);
    const theirs = await listedByYauzl(join(zips, name));
    assert.equal(directory.length, theirs.length);
    for (const [index, { fileName, size, compressedSize, content }] of theirs.entries()) {
      const member = directory.at(index);
      assert.deepEqual([member.path, member.size, member.compressedSize], [fileName, size, compressedSize]);
      assert.equal(directory.find(fileName)?.index, index);
      if (content === null) continue;
      assert.ok(
        (await collectBytes(readMember(bytes, directory, member, { limit }))).equals(content),
        fileName,
      );
    }
    assert.equal(bytes.underWay(), 0);
  });

test('a small archive is listed by one read, a member of it read by one more', async () => {
  const bytes = inMemory(archive([{ name: 'a', bytes: Buffer.alloc(100_000), method: 8, streamed: true }]));
  const directory = await readZipDirectory(bytes);
  assert.equal(bytes.asked.length, 1);
  await collectBytes(readMember(bytes, directory, directory.at(0), { limit }));
  assert.equal(bytes.asked.length, 2);
});

test('of a large archive only its end and its directory are read', async () => {
  const members = Array.from({ length: 3000 }, (_, index) => ({
    name: `some/folder/file-${index}.bin`,
    bytes: Buffer.alloc(1000),
  }));
  const bytes = inMemory(archive(members));
  const directory = await readZipDirectory(bytes);
  assert.equal(directory.length, 3000);
  assert.equal(bytes.asked.length, 2);
  assert.ok(bytes.asked.every(({ start }) => start >= 3000 * 1000));
  recordProof('B6:read-by-ranges');
});

test('an empty archive has no members', async () => {
  const directory = await readZipDirectory(inMemory(archive([])));
  assert.deepEqual([directory.length, directory.find('a'), [...directory]], [0, null, []]);
  assert.throws(() => directory.at(0), RangeError);
});

test('an archive behind a program that unpacks it is read, its offsets adjusted or not', async () => {
  const member = { name: 'a', bytes: Buffer.from('text') };
  const prefix = Buffer.from('#!/bin/sh\nexit 0\n');
  const adjusted = archive([{ ...member, central: { offset: prefix.length } }], {
    prefix,
    offset: prefix.length + 35,
  });
  for (const zip of [archive([member], { prefix }), archive([member], { prefix, wide: true }), adjusted]) {
    const bytes = inMemory(zip);
    const directory = await readZipDirectory(bytes);
    assert.equal(
      String(await collectBytes(readMember(bytes, directory, directory.at(0), { limit }))),
      'text',
    );
  }
});

test('an archive with a comment, and one with bytes behind its directory, are read', async () => {
  const members = [{ name: 'a', bytes: Buffer.from('text') }];
  const comments = ['hello', 'x'.repeat(65_535), Buffer.from('PK\x05\x06 but no end')];
  for (const comment of comments)
    assert.equal((await readZipDirectory(inMemory(archive(members, { comment })))).length, 1);
  assert.equal((await readZipDirectory(inMemory(archive(members, { gap: Buffer.alloc(9) })))).length, 1);
});

test('times are those of the extended timestamp, else of DOS as UTC, else none', async () => {
  const stamp = Buffer.from([1, 0, 0, 0, 0]);
  stamp.writeInt32LE(-86_400, 1);
  const time = ((2024 - 1980) << 25) | (2 << 21) | (29 << 16) | (23 << 11) | (59 << 5) | 29;
  const times = [
    { time },
    { time, extra: extraField(0x5455, stamp) },
    { time: 0 },
    { time: time + (1 << 25) },
  ];
  const directory = await readZipDirectory(
    inMemory(archive(times.map((central, index) => ({ name: `${index}`, central })))),
  );
  assert.deepEqual(
    [...directory].map(({ modified }) => modified),
    [Date.UTC(2024, 1, 29, 23, 59, 58), -86_400_000, null, null],
  );
});

test('links and encrypted members are told', async () => {
  const members = [
    { name: 'link', bytes: Buffer.from('/etc/passwd'), central: { attributes: 0o120777 * 65536 } },
    { name: 'link of DOS', central: { attributes: 0o120777 * 65536, madeBy: 20 } },
    { name: 'secret', central: { flags: 1 }, local: { flags: 1 } },
    { name: 'zstd', method: 93 },
  ];
  const told = [...(await readZipDirectory(inMemory(archive(members))))];
  assert.deepEqual(
    told.map(({ isLink, isEncrypted, problem }) => [isLink, isEncrypted, problem]),
    [
      [true, false, null],
      [false, false, null],
      [false, true, 'it is encrypted'],
      [false, false, 'it is compressed by method 93, not by deflate'],
    ],
  );
});

test('the range of a stored member holds its bytes, and a compressed one has none', async () => {
  const content = Buffer.from('some bytes');
  const long = { extra: extraField(0x9999, Buffer.alloc(3000)) };
  const zip = archive([
    { name: 'stored', bytes: content },
    { name: 'long', bytes: content, local: long },
    { name: 'deflated', bytes: content, method: 8 },
    { name: 'secret', bytes: content, central: { flags: 1 }, local: { flags: 1 } },
  ]);
  const bytes = inMemory(zip, 50);
  const directory = await readZipDirectory(bytes);
  for (const path of ['stored', 'long']) {
    const range = (await findStoredRange(bytes, directory, directory.find(path)!))!;
    assert.ok(zip.subarray(range.start, range.end).equals(content));
  }
  assert.equal(await findStoredRange(bytes, directory, directory.find('deflated')!), null);
  await assert.rejects(findStoredRange(bytes, directory, directory.find('secret')!), {
    code: 'zip_encrypted',
  });
});

/** Deflated zeros that end on a byte can be put one behind the other. */
function zeros(megabytes: number): Buffer {
  const one = deflateRawSync(Buffer.alloc(1024 ** 2), { finishFlush: constants.Z_SYNC_FLUSH });
  return Buffer.concat([...Array.from({ length: megabytes }, () => one), Buffer.from([3, 0])]);
}

test('a bomb of 1 GB is stopped at the size that it states', async () => {
  const [size, packed] = [200_000, zeros(1024)];
  const member = { name: 'bomb', method: 8, packed, central: { size }, local: { size } };
  const bytes = inMemory(archive([member]));
  const directory = await readZipDirectory(bytes);
  let given = 0;
  await assert.rejects(
    async () => {
      for await (const chunk of readMember(bytes, directory, directory.at(0), { limit }))
        given += chunk.length;
    },
    { code: 'zip_damaged' },
  );
  assert.ok(given <= size);
  assert.equal(bytes.underWay(), 0);
  recordProof('B7:limit-while-inflating');
});

test('a member beyond the limit is too_large before it is read, one of 128 MB takes few', async () => {
  const megabyte = Buffer.alloc(1024 ** 2);
  const stated = { size: 128 * megabyte.length, crc32: 0 };
  for (let count = 0; count < 128; count++) stated.crc32 = crc32(megabyte, stated.crc32);
  const bytes = inMemory(
    archive([{ name: 'big', method: 8, packed: zeros(128), central: stated, local: stated }]),
  );
  const directory = await readZipDirectory(bytes);
  const member = directory.at(0);
  const refused = collectBytes(readMember(bytes, directory, member, { limit: stated.size - 1 }));
  await assert.rejects(refused, { code: 'too_large', message: /link/ });
  assert.equal(bytes.asked.length, 1);
  const before = process.memoryUsage().rss;
  let [given, most] = [0, 0];
  for await (const chunk of readMember(bytes, directory, member, { limit })) {
    given += chunk.length;
    most = Math.max(most, process.memoryUsage().rss - before);
  }
  assert.equal(given, stated.size);
  assert.ok(most < 100 * 1024 ** 2, `${most} bytes more`);
});

test('reading ends when its signal fires, with the reason, and leaves nothing under way', async () => {
  const content = Buffer.alloc(3_000_000, 'some bytes');
  const members = [0, 8].map((method) => ({ name: `${method}`, bytes: content, method }));
  for (const { name } of members) {
    const bytes = inMemory(archive(members), 500);
    const directory = await readZipDirectory(bytes);
    const stop = new AbortController();
    const reason = new Error('enough');
    const chunks = readMember(bytes, directory, directory.find(name)!, { limit, signal: stop.signal });
    await assert.rejects(
      async () => {
        for await (const chunk of chunks) if (chunk.length > 0) stop.abort(reason);
      },
      (error) => error === reason,
    );
    assert.equal(bytes.underWay(), 0);
  }
  const bytes = inMemory(archive(members));
  await assert.rejects(readZipDirectory(bytes, { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('a reader that stops early leaves nothing under way', async () => {
  const content = Buffer.alloc(3_000_000, 'some bytes');
  for (const method of [0, 8]) {
    const bytes = inMemory(archive([{ name: 'a', bytes: content, method }]), 500);
    const directory = await readZipDirectory(bytes);
    for await (const chunk of readMember(bytes, directory, directory.at(0), { limit })) if (chunk) break;
    assert.equal(bytes.underWay(), 0);
  }
});

test('bytes that end before the size that was said are zip_truncated', async () => {
  const whole = archive([{ name: 'a', bytes: Buffer.alloc(1000, 'x') }]);
  const directory = await readZipDirectory(inMemory(whole));
  const short = { size: whole.length, read: () => inMemory(whole).read(0, 500) };
  await assert.rejects(readZipDirectory(short), { code: 'zip_truncated' });
  await assert.rejects(collectBytes(readMember(short, directory, directory.at(0), { limit })), {
    code: 'zip_truncated',
  });
  recordProof('B11:truncated');
});

test('a failure of the source comes through as it is', async () => {
  const whole = archive([{ name: 'a', bytes: Buffer.alloc(100_000, 'xyz'), method: 8 }]);
  const directory = await readZipDirectory(inMemory(whole));
  const failure = new Error('gone');
  const broken = {
    size: whole.length,
    async *read(start: number) {
      yield* inMemory(whole).read(start, start + 60);
      throw failure;
    },
  };
  const isIt = (error: unknown) => error === failure;
  await assert.rejects(readZipDirectory(broken), isIt);
  await assert.rejects(collectBytes(readMember(broken, directory, directory.at(0), { limit })), isIt);
});
