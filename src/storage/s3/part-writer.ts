import { createHash, type Hash } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import type { Bucket } from './bucket.ts';
import { beginMultipart, mostParts, sendPart, type Part } from './multipart.ts';
import { save, type Staged } from './staged.ts';

/** Parts on their way while the next is filled: with that one, four are in memory. */
const partsInFlight = 3;
/** What a crash in the midst of an append loses at most, in parts; each time costs a small request. */
const partsUnsaved = 8;
const smallestBuffer = 64 * 1024;
const nothing = Buffer.alloc(0);

export interface PartWriter {
  write(chunk: Uint8Array): Promise<void>;
  /** Makes durable what was written, and gives the size of all. */
  finish(): Promise<number>;
  /** After the store failed: notes the parts that it has, so far as it lets us. */
  salvage(): Promise<void>;
  /** Bytes in memory at most so far; for tests. */
  readonly peakBytes: number;
}

/** Where the bytes go: the object of the state, and the object that the parts are to become. */
export interface Destination {
  readonly stateName: string;
  readonly targetName: string;
}

/**
 * Gathers chunks into parts and sends them, several at a time. A part counts once all before it are there, and what
 * was durable stays so: the bytes of `tail`, too, are in the state until the part that holds them is there.
 */
export function createPartWriter(
  bucket: Bucket,
  { stateName, targetName }: Destination,
  before: Staged,
  tail: Buffer<ArrayBuffer>,
): PartWriter {
  const { partBytes } = bucket.options;
  let staged = before;
  let saved = before;
  let buffer = tail;
  let held = tail.length;
  let hash: Hash = createHash('sha256').update(tail);
  // What the state has to go on holding until a part holds it.
  let unsent: Uint8Array = before.multipart === null ? tail : nothing;
  let isSaved = before.parts + tail.length > 0;
  let inMemory = 0;
  let peakBytes = 0;
  const onTheWay: { readonly sent: Promise<Part>; readonly buffer: Buffer<ArrayBuffer> }[] = [];
  // Used again, so that a large object does not leave its whole size to the garbage collector.
  const spare: Buffer<ArrayBuffer>[] = [];

  const keep = async (rest: Uint8Array, sha256?: string): Promise<void> => {
    await save(bucket, stateName, staged, rest, sha256);
    saved = staged;
  };

  const begin = async () => {
    if (staged.multipart !== null) return staged.multipart;
    const multipart = await beginMultipart(bucket, targetName, staged.mark);
    staged = { ...staged, multipart };
    await keep(unsent);
    unsent = nothing;
    return multipart;
  };

  const settleOne = async (): Promise<void> => {
    const { sent, buffer } = onTheWay[0]!;
    const { number, size } = await sent;
    onTheWay.shift();
    spare.push(buffer);
    staged = { ...staged, parts: number, partBytes: staged.partBytes + size };
    inMemory -= size;
    if (staged.parts - saved.parts >= partsUnsaved) await keep(nothing);
  };

  const seal = async (): Promise<void> => {
    const multipart = await begin();
    if (onTheWay.length === partsInFlight) await settleOne();
    const number = staged.parts + onTheWay.length + 1;
    if (number > mostParts) throw tooManyParts(partBytes);
    const sent = sendPart(bucket, multipart, number, buffer.subarray(0, held), hash.digest('hex'));
    sent.catch(() => {});
    onTheWay.push({ sent, buffer });
    inMemory += held;
    buffer = spare.pop() ?? Buffer.allocUnsafeSlow(partBytes);
    held = 0;
    hash = createHash('sha256');
  };

  const take = (bytes: Uint8Array): void => {
    if (held + bytes.length > buffer.length) buffer = grown(buffer, held, held + bytes.length, partBytes);
    buffer.set(bytes, held);
    hash.update(bytes);
    held += bytes.length;
    isSaved = false;
    peakBytes = Math.max(peakBytes, inMemory + buffer.length);
  };

  return {
    async write(chunk) {
      for (let at = 0; at < chunk.length;) {
        if (held >= partBytes) await seal();
        const some = chunk.subarray(at, at + partBytes - held);
        take(some);
        at += some.length;
      }
    },
    async finish() {
      while (onTheWay.length > 0) await settleOne();
      if (!isSaved) await keep(buffer.subarray(0, held), hash.copy().digest('hex'));
      isSaved = true;
      return staged.partBytes + held;
    },
    async salvage() {
      await Promise.allSettled(onTheWay.map(({ sent }) => sent));
      if (staged.parts > saved.parts) await keep(nothing);
    },
    get peakBytes() {
      return peakBytes;
    },
  };
}

/** A short upload needs a short buffer. */
function grown(buffer: Uint8Array, held: number, needed: number, most: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(Math.min(most, Math.max(2 * needed, smallestBuffer)));
  larger.set(buffer.subarray(0, held));
  return larger;
}

const tooManyParts = (partBytes: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `An object has at most ${mostParts} parts, here of ${partBytes} bytes. Set a larger --part-size for files beyond that.`,
  );
