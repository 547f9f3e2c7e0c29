import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { splitIntoParts, type UploadPart, type UploadParts } from './parts.ts';
import { sendParts } from './remote.ts';

const partBytes = 1000;

async function* chunksOf(bytes: Uint8Array, length: number, failure?: Error): AsyncGenerator<Uint8Array> {
  // Its memory is used again, as callers may.
  const chunk = Buffer.alloc(length);
  for (let at = 0; at < bytes.length; at += length) {
    const some = bytes.subarray(at, at + length);
    chunk.set(some);
    yield chunk.subarray(0, some.length);
  }
  if (failure) throw failure;
}

/** A store in memory: parts get there after so many turns of the event loop, and some never. */
function storing({ turns = () => 0, fails = () => false }: Partial<Behaviour>) {
  const [sent, arrived]: [number[], Buffer[]] = [[], []];
  let [inFlight, most] = [0, 0];
  const send = async ({ bytes, digest }: UploadPart): Promise<Buffer> => {
    const at = sent.push(bytes.length) - 1;
    most = Math.max(most, ++inFlight);
    for (let left = turns(at); left > 0; left--) await turn();
    inFlight--;
    if (fails(at)) throw new Error(`part ${at}`);
    assert.deepEqual(digest, hash('md5', bytes, 'buffer'));
    return Buffer.from(bytes);
  };
  const sender = { send, arrived: (bytes: Buffer) => void arrived.push(bytes), count: 0, most: 1000 };
  return { sender, arrived, sent, peak: () => ({ inFlight, most }) };
}

interface Behaviour {
  readonly turns: (at: number) => number;
  readonly fails: (at: number) => boolean;
}

const md5Parts = (bytes: AsyncIterable<Uint8Array>, before = Buffer.alloc(0)): UploadParts =>
  splitIntoParts(bytes, { partBytes, hash: 'md5', before });

it('whatever the chunks and the order in which parts get there, the bytes arrive in order, in parts of one size', async () => {
  const property = fc.asyncProperty(
    fc.nat(12_000),
    fc.nat(2500),
    fc.integer({ min: 1, max: 3000 }),
    fc.array(fc.nat(4), { minLength: 1 }),
    async (size, early, length, turns) => {
      const bytes = randomBytes(size + early);
      const before = Buffer.from(bytes.subarray(0, early));
      const store = storing({ turns: (at) => turns[at % turns.length]! });
      const parts = md5Parts(chunksOf(bytes.subarray(early), length), before);
      assert.equal(await sendParts(parts, store.sender), null);
      assert.ok(Buffer.concat(store.arrived).equals(bytes));
      assert.ok(before.equals(bytes.subarray(0, early)), 'what was there before is left as it is');
      const first = Math.max(partBytes, early);
      assert.ok(store.sent.slice(0, -1).every((sent, at) => sent === (at === 0 ? first : partBytes)));
      assert.ok(store.peak().most <= 3);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

it('there is a part also where there are no bytes, but it is not sent', async () => {
  const [part, ...others] = await Array.fromAsync(md5Parts(chunksOf(Buffer.alloc(0), 1)).all);
  assert.deepEqual([part?.bytes.length, others.length], [0, 0]);
  const store = storing({});
  assert.equal(await sendParts(md5Parts(chunksOf(Buffer.alloc(0), 1)), store.sender), null);
  assert.equal(store.sent.length, 0);
});

it('no more buffers are made than are in use at a time', async () => {
  const buffers = new Set<ArrayBufferLike>();
  const store = storing({ turns: (at) => at % 3 });
  const parts = splitIntoParts(chunksOf(randomBytes(5_000_000), 7000), { partBytes: 100_000, hash: 'md5' });
  const send = (part: UploadPart): Promise<Buffer> =>
    store.sender.send((buffers.add(part.bytes.buffer), part));
  await sendParts(parts, { ...store.sender, send });
  assert.ok(buffers.size <= 4, `${buffers.size}`);
});

it('after the source failed, all that came before arrives', async () => {
  const bytes = randomBytes(4321);
  const store = storing({ turns: (at) => 5 - at });
  const failure = await sendParts(md5Parts(chunksOf(bytes, 100, new Error('enough'))), store.sender);
  assert.deepEqual(failure, { error: new Error('enough'), isInStore: false });
  assert.ok(Buffer.concat(store.arrived).equals(bytes));
});

it('after the store failed, nothing behind the gap counts, and nothing is left on its way', async () => {
  for (const broken of [0, 2, 4])
    for (const error of [undefined, new Error('and the source')]) {
      const store = storing({ turns: (at) => (at % 2) * 6, fails: (at) => at === broken });
      const failure = await sendParts(md5Parts(chunksOf(randomBytes(5000), 100, error)), store.sender);
      assert.deepEqual(failure, { error: new Error(`part ${broken}`), isInStore: true });
      assert.equal(store.arrived.length, broken);
      assert.equal(store.peak().inFlight, 0);
    }
});

it('the source is closed when the store has failed', async () => {
  let isClosed = false;
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.alloc(100);
    } finally {
      isClosed = true;
    }
  };
  const failure = await sendParts(md5Parts(endless()), storing({ fails: (at) => at === 5 }).sender);
  assert.ok(failure?.isInStore);
  assert.ok(isClosed);
});

it('parts beyond what the store takes are refused, with all before them there', async () => {
  const store = storing({});
  const failure = await sendParts(md5Parts(chunksOf(randomBytes(5000), 100)), {
    ...store.sender,
    count: 7,
    most: 9,
  });
  assert.ok(isWorkcrateError(failure?.error, 'too_large'));
  assert.equal(store.arrived.length, 2);
});
