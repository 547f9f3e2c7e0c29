import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { packCompressedArchive, unpackArchive, type ArchivePart } from './archive.ts';

const never = new AbortController().signal;
const part = fc.record({
  name: fc.stringMatching(/^[a-zé]{1,8}\/[a-z]{1,8}\.xml$/),
  bytes: fc.oneof(
    fc.uint8Array(),
    fc.string({ minLength: 200 }).map((text) => Buffer.from(text.repeat(9))),
  ),
});

test('what is packed is found again when it is unpacked', async () => {
  const parts = fc.uniqueArray(part, { selector: ({ name }) => name });
  await fc.assert(
    fc.asyncProperty(parts, async (given: ArchivePart[]) => {
      const plain = (all: readonly ArchivePart[]) => all.map(({ name, bytes }) => [name, Buffer.from(bytes)]);
      assert.deepEqual(plain(await unpackArchive(packCompressedArchive(given), never)), plain(given));
    }),
    { numRuns: 50 },
  );
});
