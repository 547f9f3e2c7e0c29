import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WorkcrateError } from '../../platform/errors.ts';
import type { StoredFile } from '../files/files.ts';
import { createSpool, readOutput, truncateText } from './output.ts';
import { shownBounds } from './room.testing.ts';

/** Keeps bytes in memory, or fails after so many chunks. */
function keeper(failAfter = Infinity) {
  const kept: Uint8Array[] = [];
  let left = 1e12;
  const keep = async (bytes: AsyncIterable<Uint8Array>): Promise<StoredFile> => {
    for await (const chunk of bytes) {
      if (kept.length >= failAfter) throw new WorkcrateError('quota_exceeded', 'Over quota.');
      kept.push(new Uint8Array(chunk));
    }
    return { id: 'file_1' } as StoredFile;
  };
  return {
    bytes: () => Buffer.concat(kept),
    allow: (most: number) => (left = most),
    spool: () => createSpool(keep, { left }),
  };
}

/** A chunk is good only until the next is asked for. */
async function* streamed(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    const lent = new Uint8Array(part);
    yield lent;
    lent.fill(0x21);
  }
}

function inPieces(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  return parts;
}

const silent = () => {};
const bounds = shownBounds;
const sizes = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 5 });

test('any bytes in any pieces give the text that they are as a whole', async () => {
  const bytes = fc
    .uint8Array({ maxLength: 300 })
    .chain((part) => fc.nat(200).map((times) => Buffer.concat(Array.from({ length: times }, () => part))));
  await fc.assert(
    fc.asyncProperty(bytes, sizes, async (whole, sizes) => {
      const kept = keeper();
      const output = await readOutput(streamed(inPieces(whole, sizes)), { ...kept, heard: silent, bounds });
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole);
      assert.equal(output.text, truncateText(text, bounds));
      assert.ok(output.text.isWellFormed());
      assert.equal(output.bytes, whole.length);
      assert.equal(output.truncated, text.length > 10_000);
      assert.deepEqual(kept.bytes(), output.truncated ? Buffer.from(whole) : Buffer.alloc(0));
      assert.equal(output.spooled?.file?.id, output.truncated ? 'file_1' : undefined);
    }),
    { numRuns: 60 },
  );
});

test('a character that is never finished is replaced, also where it is the one too many', async () => {
  const kept = keeper();
  const bytes = Buffer.concat([Buffer.from('x'.repeat(10_000)), Buffer.from([0xf0, 0x9f])]);
  const output = await readOutput(streamed([bytes]), { ...kept, heard: silent, bounds });
  assert.ok(output.text.endsWith('x\ufffd'));
  assert.deepEqual(kept.bytes(), bytes);
});

test('what is more than may be kept is counted and dropped', async () => {
  const kept = keeper();
  kept.allow(20_000);
  const bytes = Buffer.alloc(50_000, 'y');
  const output = await readOutput(streamed(inPieces(bytes, [3000])), { ...kept, heard: silent, bounds });
  assert.equal(kept.bytes().length, 20_000);
  assert.equal(output.spooled?.dropped, 30_000);
  assert.equal(output.bytes, 50_000);
});

for (const failAfter of [0, 1, 3])
  test(`output is read to its end where keeping it fails after ${failAfter} blocks`, async () => {
    const kept = keeper(failAfter);
    const bytes = Buffer.alloc(3_000_000, 'z');
    const output = await readOutput(streamed(inPieces(bytes, [90_000])), { ...kept, heard: silent, bounds });
    assert.equal(output.bytes, 3_000_000);
    assert.equal(output.spooled?.file, null);
    assert.equal(output.spooled.failure?.code, 'quota_exceeded');
    assert.match(output.text, /truncated 2992000 chars/);
  });

test('the writer waits for whoever keeps the bytes', async () => {
  let open = 0;
  let most = 0;
  const gate = Promise.withResolvers<void>();
  const spool = () =>
    createSpool(
      async (bytes) => {
        for await (const _ of bytes) await gate.promise;
        return { id: 'f' } as StoredFile;
      },
      { left: 1e9 },
    );
  async function* flood(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 50; n++) {
      most = Math.max(most, ++open);
      yield Buffer.alloc(600_000);
    }
  }
  const taking = readOutput(flood(), { spool, heard: silent, bounds });
  for (let n = 0; n < 20; n++) await new Promise(setImmediate);
  assert.ok(most <= 3, `${most} chunks were taken`);
  gate.resolve();
  assert.equal((await taking).bytes, 30_000_000);
});
