import { setTimeout as pause } from 'node:timers/promises';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Blobs } from './blobs.ts';

/** How often a read may break off in a row without having got on. */
const mostBreaks = 5;
const gettingOnBytes = 256 * 1024;

export interface Range {
  readonly start: number;
  readonly end: number;
  /** Of the blob as it was opened: no bytes of another one are given. */
  readonly etag: string;
}

/** The bytes of a range. A transfer that breaks off, or is short, is gone on with from the byte reached. */
export async function* readRange(
  blobs: Blobs,
  name: string,
  { start, end, etag }: Range,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let [position, breaks] = [start, 0];
  while (position < end) {
    const before = position;
    let reason: unknown = new Error('the answer was shorter than asked for');
    try {
      for await (const chunk of bodyOf(blobs, name, { start: position, end, etag }, signal)) {
        position += chunk.length;
        if (position > end) throw damaged();
        yield chunk;
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (isWorkcrateError(error)) throw error;
      reason = error;
    }
    breaks = position - before >= gettingOnBytes ? 0 : breaks + 1;
    if (position < end && breaks >= mostBreaks) throw blobs.broken(reason);
    if (position < end) await pause(50 * breaks);
  }
}

async function* bodyOf(
  blobs: Blobs,
  name: string,
  { start, end, etag }: Range,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const headers = { 'x-ms-range': `bytes=${start}-${end - 1}`, 'if-match': etag };
  const answer = await blobs.get(name, headers, signal);
  if (answer === null) throw gone();
  // Whoever stands between may not know ranges, and send the whole.
  if (answer.status !== 206 || !`${answer.headers['content-range']}`.startsWith(`bytes ${start}-`)) {
    answer.body.destroy();
    throw damaged();
  }
  yield* answer.body as AsyncIterable<Uint8Array>;
}

const gone = (): WorkcrateError =>
  new WorkcrateError('storage_failed', 'A stored object was removed while it was read.');

const damaged = (): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    'The store sent other bytes than those asked for. See what stands between.',
  );
