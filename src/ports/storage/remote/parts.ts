import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { OpenObject } from '../storage.ts';
import type { StreamedAnswer } from './remote.ts';

export interface UploadPart {
  readonly bytes: Uint8Array;
  readonly digest: Buffer;
}

/** Chunks gathered into parts of one size, in buffers that are used again once they are given back. */
export interface UploadParts {
  readonly all: AsyncGenerator<UploadPart>;
  giveBack(part: UploadPart): void;
}

export interface PartOptions {
  readonly partBytes: number;
  /** What the store checks parts by. Done as the bytes come: a large part at once would hold up everything else. */
  readonly hash: 'sha256' | 'md5';
  /** Bytes from before, which the first part begins with. They are left as they are. */
  readonly before?: Buffer<ArrayBuffer>;
  readonly signal?: AbortSignal | undefined;
}

const smallestBuffer = 64 * 1024;
const emptyBuffer = Buffer.alloc(0);

/**
 * Every part but the last is of `partBytes`, or longer where `before` is. There is always one, be it empty. When the source fails or the signal
 * fires, what came before is still passed on as a part, and then the failure.
 */
export function splitIntoParts(bytes: AsyncIterable<Uint8Array>, options: PartOptions): UploadParts {
  const { partBytes, signal, before = emptyBuffer } = options;
  const free: Buffer<ArrayBuffer>[] = [];
  const roomFor = (needed: number): Buffer<ArrayBuffer> =>
    free.pop() ?? Buffer.allocUnsafeSlow(Math.min(partBytes, Math.max(2 * needed, smallestBuffer)));

  async function* gather(): AsyncGenerator<UploadPart> {
    let [buffer, held, isFirst] = [before, before.length, true];
    let hash = createHash(options.hash).update(before);
    const part = (): UploadPart => ({ bytes: buffer.subarray(0, held), digest: hash.digest() });
    try {
      for await (const chunk of bytes) {
        signal?.throwIfAborted();
        for (let at = 0; at < chunk.length;) {
          if (held >= partBytes) {
            yield part();
            [buffer, held, isFirst] = [emptyBuffer, 0, false];
            hash = createHash(options.hash);
          }
          const piece = chunk.subarray(at, at + partBytes - held);
          if (held + piece.length > buffer.length)
            buffer = moveHeldBytes(buffer, held, roomFor(held + piece.length));
          buffer.set(piece, held);
          hash.update(piece);
          held += piece.length;
          at += piece.length;
        }
      }
    } catch (error) {
      if (held > 0 || isFirst) yield part();
      throw error;
    }
    if (held > 0 || isFirst) yield part();
  }

  return {
    all: gather(),
    giveBack(part) {
      const whole = Buffer.from(part.bytes.buffer as ArrayBuffer);
      if (whole.length === partBytes) free.push(whole);
    },
  };
}

function moveHeldBytes(from: Buffer, held: number, to: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  to.set(from.subarray(0, held));
  return to;
}

/** How often in a row a body may break off before it has given this much. */
const maxBreaks = 5;
const progressBytes = 256 * 1024;
/** After a break; longer with each. */
const rereadPauseMs = 50;

/** An object as it was when it was opened: no bytes of another one are given. */
export interface OpenedObject {
  readonly name: string;
  readonly etag: string;
  readonly size: number;
}

export interface ObjectByteRange {
  readonly start: number;
  readonly end: number;
}

export interface RangeSource {
  /** The bytes of a range, still to be read; null where there is no object with that etag any more. */
  getRange(
    opened: OpenedObject,
    range: ObjectByteRange,
    signal?: AbortSignal,
  ): Promise<StreamedAnswer | null>;
  /** What a body that broke off is to be told as. */
  broken(error: unknown): WorkcrateError;
}

/** It keeps only the ETag, so there is nothing to close. */
export const openRemoteObject = (source: RangeSource, opened: OpenedObject): OpenObject => ({
  size: opened.size,
  descriptor: null,
  read: (start, end, signal) => readObjectRange(source, opened, { start, end }, signal),
  [Symbol.asyncDispose]: async () => {},
});

/** A body that breaks off, or is short, is gone on with from the byte that it had reached. */
export async function* readObjectRange(
  source: RangeSource,
  opened: OpenedObject,
  { start, end }: ObjectByteRange,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (let [at, breaks] = [start, 0]; at < end;) {
    const from = at;
    let failure: unknown = new Error('the body is shorter than was said');
    try {
      for await (const chunk of readRangeBody(source, opened, { start: at, end }, signal)) {
        at += chunk.length;
        if (at > end) throw wrongBytesError();
        yield chunk;
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (isWorkcrateError(error)) throw error;
      failure = error;
    }
    breaks = at - from >= progressBytes ? 0 : breaks + 1;
    if (at < end && breaks === maxBreaks) throw source.broken(failure);
    if (at < end) await pause(rereadPauseMs * breaks);
    signal?.throwIfAborted();
  }
}

async function* readRangeBody(
  source: RangeSource,
  opened: OpenedObject,
  { start, end }: ObjectByteRange,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const answer = await source.getRange(opened, { start, end }, signal);
  if (answer === null) throw objectRemovedError();
  // A proxy may not support ranges, and send the whole object.
  if (answer.headers['content-range'] !== `bytes ${start}-${end - 1}/${opened.size}`) {
    answer.body.destroy();
    throw wrongBytesError();
  }
  yield* answer.body as AsyncIterable<Uint8Array>;
}

const objectRemovedError = (): WorkcrateError =>
  new WorkcrateError('storage_failed', 'A stored object was removed while it was read.');

const wrongBytesError = (): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    'The store sent other bytes than those asked for. Check its log, and any proxy in between.',
  );
