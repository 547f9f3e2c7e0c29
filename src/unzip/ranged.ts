import { fillBuffer } from '../streams.ts';
import { truncated } from './failures.ts';

/** Bytes that are had by ranges: an open object of a source. */
export interface Ranged {
  readonly size: number;
  /** From `start` to before `end`. A chunk is good only until the next one is asked for. */
  read(start: number, end: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Fills all of `target` with the bytes from `start` on, by one read. */
export async function fill(
  bytes: Ranged,
  start: number,
  target: Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  const filled = await fillBuffer(target, bytes.read(start, start + target.length, signal));
  if (filled < target.length) throw truncated(`its bytes end at ${start + filled} of ${bytes.size}`);
}

export async function take(
  bytes: Ranged,
  start: number,
  length: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  const target = Buffer.allocUnsafeSlow(length);
  if (length > 0) await fill(bytes, start, target, signal);
  return target;
}
