import { mostLineBytes } from './line.ts';
import { openRegular } from './regular.ts';

const forwardChunkBytes = 1024 * 1024;

/** Lines of a file. */
export interface Stretch {
  /** Without their ends. One that is too long is cut. */
  readonly lines: readonly Buffer[];
  /** Where each of them begins in the file. */
  readonly starts: readonly number[];
  /** How far the file was read for them. */
  readonly end: number;
  /** Whether the last of them has no end, as the last of the file may. */
  readonly open: boolean;
}

/** The lines of a file from its beginning, some at a time. A line that is too long is never held in full. */
export async function* forwards(path: string): AsyncGenerator<Stretch> {
  await using handle = await openRegular(path);
  let rest = Buffer.alloc(0);
  let restAt = 0;
  let at = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(forwardChunkBytes),
      0,
      forwardChunkBytes,
      at,
    );
    if (bytesRead === 0) break;
    const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    // What was cut of the first line stands between it and what was read now.
    const offset = at - rest.length;
    const whole = bytes.lastIndexOf(0x0a) + 1;
    at += bytesRead;
    const { lines, starts } = linesIn(bytes.subarray(0, whole));
    yield {
      lines,
      starts: starts.map((start) => (start === 0 ? restAt : offset + start)),
      end: at,
      open: false,
    };
    if (whole > 0) restAt = offset + whole;
    // What is beyond the bound is no line of ours, whatever it goes on with.
    rest = bytes.subarray(whole).subarray(0, mostLineBytes + 1);
  }
  if (rest.length > 0) yield { lines: [rest], starts: [restAt], end: at, open: true };
}

/** Of bytes that end with a line's end. */
export function linesIn(bytes: Buffer): { lines: Buffer[]; starts: number[] } {
  const lines: Buffer[] = [];
  const starts: number[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    lines.push(bytes.subarray(start, end));
    starts.push(start);
    start = end + 1;
  }
  return { lines, starts };
}
