import { read } from 'node:fs';
import { promisify } from 'node:util';
import { WorkcrateError } from '../errors.ts';
import { storing } from './failures.ts';

const readAt = promisify(read);
const chunkSize = 512 * 1024;

/** One buffer for all chunks: a fresh one for each would leave 64 MB of garbage before it is collected. */
export async function* readChunks(
  descriptor: number,
  start: number,
  end: number,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(chunkSize, end - start));
  for (let position = start; position < end;) {
    signal?.throwIfAborted();
    const wanted = Math.min(chunkSize, end - position);
    const { bytesRead } = await storing(() => readAt(descriptor, buffer, 0, wanted, position));
    if (bytesRead === 0)
      throw new WorkcrateError('storage_failed', 'A stored object is shorter than it was.');
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
