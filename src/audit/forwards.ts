import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { mostLineBytes } from './line.ts';

const chunkBytes = 1024 * 1024;

/** Lines of a file. */
export interface Stretch {
  /** Without their ends. One that is too long is cut. */
  readonly lines: readonly Buffer[];
  /** Whether the last of them has no end, as the last of the file may. */
  readonly open: boolean;
}

/** The lines of a file from its beginning, some at a time. A line that is too long is never held in full. */
export async function* forwards(path: string): AsyncGenerator<Stretch> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  let rest = Buffer.alloc(0);
  for (let at = 0; ;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    const whole = bytes.lastIndexOf(0x0a) + 1;
    // What is beyond the bound is no line of ours, whatever it goes on with.
    rest = bytes.subarray(whole).subarray(0, mostLineBytes + 1);
    yield { lines: linesIn(bytes.subarray(0, whole)), open: false };
  }
  if (rest.length > 0) yield { lines: [rest], open: true };
}

/** Of bytes that end with a line's end. */
export function linesIn(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
