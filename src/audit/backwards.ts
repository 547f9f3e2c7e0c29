import type { FileHandle } from 'node:fs/promises';
import { linesIn } from './forwards.ts';
import { mostLineBytes } from './line.ts';
import { openRegular } from './regular.ts';

const chunkBytes = 256 * 1024;

/** Lines that stand together in a file, the last first, and what it took to read them. */
export interface Backwards {
  readonly lines: readonly Buffer[];
  /** Where each of them begins in the file. */
  readonly starts: readonly number[];
  readonly bytes: number;
}

/** The lines of a file from its end, some at a time; only those that end before a place where one is given. */
export async function* backwards(path: string, before: number): AsyncGenerator<Backwards> {
  await using handle = await openRegular(path);
  const { size } = await handle.stat();
  let rest = Buffer.alloc(0);
  for (let at = Math.min(size, before); at > 0;) {
    const bytes = await read(handle, Math.max(0, at - chunkBytes), at);
    at = Math.max(0, at - chunkBytes);
    const all = Buffer.concat([bytes, rest]);
    // What stands before the first end belongs to a line that begins further on.
    const begin = at === 0 ? 0 : all.indexOf(0x0a) + 1;
    rest = begin === 0 && at > 0 ? all : all.subarray(0, begin);
    if (rest.length > mostLineBytes) rest = rest.subarray(0, mostLineBytes);
    const { lines, starts } = linesIn(all.subarray(begin, Math.max(begin, all.lastIndexOf(0x0a) + 1)));
    const offset = at + begin;
    yield {
      lines: lines.toReversed(),
      starts: starts.toReversed().map((start) => offset + start),
      bytes: bytes.length,
    };
  }
}

async function read(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(to - from), 0, to - from, from);
  return buffer.subarray(0, bytesRead);
}
