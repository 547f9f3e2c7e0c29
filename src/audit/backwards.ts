import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { linesIn } from './forwards.ts';
import { mostLineBytes } from './line.ts';

const chunkBytes = 256 * 1024;

/** Lines that stand together in a file, the last first, and what it took to read them. */
export interface Backwards {
  readonly lines: readonly Buffer[];
  readonly bytes: number;
}

/** The lines of a file from its end, some at a time; only those before a seq where one is given. */
export async function* backwards(path: string, before: number | null): AsyncGenerator<Backwards> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { size } = await handle.stat();
  let rest = Buffer.alloc(0);
  for (let at = before === null ? size : await startOf(handle, size, before); at > 0;) {
    const bytes = await read(handle, Math.max(0, at - chunkBytes), at);
    at = Math.max(0, at - chunkBytes);
    const all = Buffer.concat([bytes, rest]);
    // What stands before the first end belongs to a line that begins further on.
    const begin = at === 0 ? 0 : all.indexOf(0x0a) + 1;
    rest = begin === 0 && at > 0 ? all : all.subarray(0, begin);
    if (rest.length > mostLineBytes) rest = rest.subarray(0, mostLineBytes);
    const end = all.lastIndexOf(0x0a) + 1;
    yield { lines: begin < end ? linesIn(all.subarray(begin, end)).toReversed() : [], bytes: bytes.length };
  }
}

const seqForm = /\n\{"seq":(\d{1,16}),/;

/** Where the lines from a seq on begin, or somewhat behind that: they are numbered, so half can be left out each time. */
async function startOf(handle: FileHandle, size: number, seq: number): Promise<number> {
  let [low, high] = [0, size];
  while (high - low > 2 * mostLineBytes) {
    const middle = Math.floor((low + high) / 2);
    const found = seqForm.exec((await read(handle, middle, middle + mostLineBytes)).toString('latin1'));
    if (found === null) return high;
    if (Number(found[1]) < seq) low = middle;
    else high = middle + found.index + 1;
  }
  return high;
}

async function read(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(to - from), 0, to - from, from);
  return buffer.subarray(0, bytesRead);
}
