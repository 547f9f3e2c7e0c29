import { createHash } from 'node:crypto';
import { read } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError } from '../errors.ts';
import { belowRoot, type Components, type OpenFile } from '../paths/paths.ts';

const readInto = promisify(read);
const chunkBytes = 256 * 1024;

/**
 * The sha256 of a regular file, by one descriptor, since code of the user's may exchange it meanwhile. Null where
 * no such file is there, `other` where it is not of this size.
 */
export async function hashExisting(
  root: string,
  path: Components,
  size: number,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    using file = belowRoot(root).open(path);
    return file.stats.size === size ? await hashFile(file, size, signal) : 'other';
  } catch (error) {
    // A folder or link that is in its place is told of when the file is made.
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused')) return null;
    throw error;
  }
}

/** Stops where it turns out to be longer. */
async function hashFile({ fd }: OpenFile, size: number, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (let at = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await readInto(fd, chunk, 0, chunkBytes, at);
    at += bytesRead;
    if (bytesRead === 0) return at === size ? hash.digest('hex') : 'other';
    if (at > size) return 'other';
    hash.update(chunk.subarray(0, bytesRead));
  }
}
