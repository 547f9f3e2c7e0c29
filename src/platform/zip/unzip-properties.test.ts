import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../errors.ts';
import { collectBytes } from '../streams.ts';
import { archive, inMemory, type TestMember } from './unzip-archive.testing.ts';
import { listedByYauzl } from './unzip-oracle.testing.ts';
import { readMember, readZipDirectory } from './unzip.ts';

const limit = 1_000_000;

const content = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.nat(9000).map((length) => Buffer.alloc(length, 'again and ')),
);

const member: fc.Arbitrary<TestMember> = fc.record({
  name: fc.stringMatching(/^[a-zü]{1,4}(?:\/[a-z]{1,3}){0,2}$/),
  bytes: content,
  method: fc.constantFrom(0, 8),
  streamed: fc.boolean(),
  wide: fc.boolean(),
});

const members = fc.uniqueArray(member, { maxLength: 8, selector: ({ name }) => name });

const end = fc.record({
  wide: fc.boolean(),
  comment: fc.stringMatching(/^[a-z]{0,30}$/),
  prefix: fc.constantFrom(Buffer.alloc(0), Buffer.from('#!/bin/sh\n'), Buffer.alloc(70_000, 'x')),
});

const chunk = fc.constantFrom(13, 64, 1000, 65_536);

test('any archive gives back what was put into it, whatever chunks it comes in', async () => {
  await fc.assert(
    fc.asyncProperty(members, end, chunk, async (members, end, most) => {
      const bytes = inMemory(archive(members, end), end.prefix.length > 100 ? 65_536 : most);
      const directory = await readZipDirectory(bytes);
      assert.equal(directory.length, members.length);
      for (const { name, bytes: content } of members) {
        const found = directory.find(String(name))!;
        assert.equal(found.problem, null);
        const read = await collectBytes(readMember(bytes, directory, found, { limit }));
        assert.ok(read.equals(content!));
      }
      assert.equal(bytes.underWay(), 0);
    }),
    { numRuns: 50 },
  );
});

test('any archive is the same to yauzl', async () => {
  await fc.assert(
    fc.asyncProperty(members, end, async (members, { wide, comment }) => {
      const zip = archive(members, { wide, comment });
      const bytes = inMemory(zip);
      const directory = await readZipDirectory(bytes);
      const theirs = await listedByYauzl(zip);
      const ours = [...directory].map(({ path, size, compressedSize }) => [path, size, compressedSize]);
      assert.deepEqual(
        ours,
        theirs.map(({ fileName, size, compressedSize }) => [fileName, size, compressedSize]),
      );
      for (const [index, { content }] of theirs.entries())
        assert.ok(
          (await collectBytes(readMember(bytes, directory, directory.at(index), { limit }))).equals(content!),
        );
    }),
    { numRuns: 60 },
  );
});

type Change = { kind: 'set' | 'insert' | 'remove' | 'cut' | 'copy'; at: number; value: number };

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('set', 'set', 'set', 'insert', 'remove', 'cut', 'copy'),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  value: fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 8, 0xff)),
});

function changed(bytes: Buffer, { kind, at, value }: Change): Buffer {
  // Half of all changes are to the end, where the directory is.
  const position = Math.floor((at < 0.5 ? at * 2 : 1 - (1 - at) ** 2) * bytes.length);
  const [before, behind] = [bytes.subarray(0, position), bytes.subarray(position)];
  if (kind === 'cut') return before;
  if (kind === 'insert') return Buffer.concat([before, Buffer.from([value]), behind]);
  if (kind === 'remove') return Buffer.concat([before, behind.subarray(value)]);
  if (kind === 'copy') return Buffer.concat([before, bytes.subarray(Math.max(position - value, 0))]);
  return Buffer.concat([before, Buffer.from([value]), behind.subarray(1)]);
}

const codes = new Set([
  'not_a_zip',
  'zip_truncated',
  'zip_damaged',
  'zip_encrypted',
  'too_large',
  'unsupported',
]);

/** What it gives, or null where it is refused with one of the codes. */
async function orRefused<Result>(result: Promise<Result>): Promise<Result | null> {
  try {
    return await result;
  } catch (error) {
    assert.ok(isWorkcrateError(error) && codes.has(error.code), String(error));
    return null;
  }
}

test('an archive that was tampered with gives right bytes or an error with a code, never others', async () => {
  const changes = fc.array(change, { minLength: 1, maxLength: 4 });
  let [read, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(members, end, changes, async (members, end, changes) => {
      const originals = new Map(members.map(({ name, bytes }) => [String(name), bytes!]));
      const bytes = inMemory(changes.reduce(changed, archive(members, { ...end, prefix: Buffer.alloc(0) })));
      const directory = await orRefused(readZipDirectory(bytes));
      for (const member of directory ?? []) {
        const got = await orRefused(collectBytes(readMember(bytes, directory!, member, { limit })));
        if (got === null) refused++;
        else if (++read && member.path !== null)
          assert.ok(got.equals(originals.get(member.path)!), member.path);
      }
      assert.equal(bytes.underWay(), 0);
    }),
    { numRuns: 1000 },
  );
  assert.ok(read > 100 && refused > 100, `${read} read, ${refused} refused`);
});
