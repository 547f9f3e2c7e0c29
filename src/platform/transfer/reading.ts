/**
 * Reads stored bytes into pooled buffers for a response. Backpressure: a piece is read once the client has taken the
 * one before.
 */
import { read, readSync } from 'node:fs';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { programName } from '../program.ts';
import type { ResponseClient } from './client.ts';
import type { FileRange } from './transfer.ts';

/** A buffer of a pool. Dispose of it only once no read and no write can touch it any more. */
export interface PooledBuffer extends Disposable {
  readonly bytes: Buffer;
}

/** Buffers of one size, of which `kept` wait for the next transfer instead of being collected. */
class BufferPool {
  inUse = 0;
  readonly size: number;
  readonly #kept: number;
  readonly #idle: Buffer[] = [];

  constructor(size: number, kept: number) {
    this.size = size;
    this.#kept = kept;
  }

  take(): PooledBuffer {
    const bytes = this.#idle.pop() ?? Buffer.allocUnsafeSlow(this.size);
    this.inUse += 1;
    return { bytes, [Symbol.dispose]: () => this.#giveBack(bytes) };
  }

  #giveBack(bytes: Buffer): void {
    this.inUse -= 1;
    if (this.#idle.length < this.#kept) this.#idle.push(bytes);
  }
}

const small = new BufferPool(64 * 1024, 64);
const large = new BufferPool(1024 * 1024, 16);
/** Slow clients may use this many large buffers (24 MB); later clients get a small one. */
const maxLargeInUse = 24;

export const smallBufferBytes = small.size;

export function takeSmall(): PooledBuffer {
  return small.take();
}

/** A large buffer, or a small one where too many large ones are out. */
function takeLarge(): PooledBuffer {
  return large.inUse < maxLargeInUse ? large.take() : small.take();
}

/** The buffers that all transfers together use at this moment. */
export function buffersInUse(): { count: number; bytes: number } {
  const pools = [small, large];
  return {
    count: pools.reduce((sum, pool) => sum + pool.inUse, 0),
    bytes: pools.reduce((sum, pool) => sum + pool.inUse * pool.size, 0),
  };
}

/** A client that takes longer than this for a buffer would only keep a large one from others. */
const maxPromptMs = 100;

/** A file up to this size is read on this thread: from the page cache that costs less than to hand it to another. */
const maxReadAtOnce = 256 * 1024;

/**
 * Backpressure: reads and writes alternate, with one buffer at a time, so that a slow client uses no more than that.
 */
export async function sendPooled(client: ResponseClient, { file, start, end }: FileRange): Promise<void> {
  for (let at = start, isPrompt = true; at < end;) {
    using buffer = isPrompt ? takeLarge() : takeSmall();
    const bytes = buffer.bytes.subarray(0, Math.min(end - at, buffer.bytes.length));
    if (end - start <= maxReadAtOnce) fillAtOnce(file, bytes, at);
    else await fillInBackground(file, bytes, at);
    const began = performance.now();
    await client.write(bytes);
    isPrompt = performance.now() - began < maxPromptMs;
    at += bytes.length;
  }
}

/** Through the thread pool, so that a slow disk does not hold up other clients. A file that ends early is a failure. */
async function fillInBackground(file: number, into: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < into.length;) {
    const got = await readDescriptorOnce(file, into, filled, position + filled);
    if (got === 0) throw objectTruncatedError();
    filled += got;
  }
}

function readDescriptorOnce(file: number, into: Buffer, offset: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, into, offset, into.length - offset, position, (error, got) =>
      error ? reject(objectUnreadableError(error)) : resolve(got),
    );
  });
}

/** The same on this thread. */
export function fillAtOnce(file: number, into: Buffer, position: number): void {
  for (let filled = 0; filled < into.length;) {
    const got = readOnceNow(file, into, filled, position + filled);
    if (got === 0) throw objectTruncatedError();
    filled += got;
  }
}

function readOnceNow(file: number, into: Buffer, offset: number, position: number): number {
  try {
    return readSync(file, into, offset, into.length - offset, position);
  } catch (error) {
    throw objectUnreadableError(error);
  }
}

/** Thrown inside this room to end a transfer whose client went away; it never leaves the room. */
export class ClientGone extends Error {}

export function objectTruncatedError(): WorkcrateError {
  return new WorkcrateError(
    'storage_failed',
    `A stored object is shorter than it was when the download began; run ${programName} check --read-data.`,
  );
}

function objectUnreadableError(cause: unknown): WorkcrateError {
  return new WorkcrateError('storage_failed', 'A stored object could not be read; see the cause.', { cause });
}

export function wrongLengthError(promised: number): WorkcrateError {
  return new WorkcrateError('internal', 'A response body was not of the Content-Length that was promised.', {
    details: { promised },
  });
}

/** Whether a read ended because its signal was aborted. */
export function isAbort(error: unknown): boolean {
  return isWorkcrateError(error, 'cancelled') || (error instanceof Error && error.name === 'AbortError');
}
