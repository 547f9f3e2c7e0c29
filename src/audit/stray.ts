import { createHash } from 'node:crypto';
import { openRegular } from './regular.ts';
import type { Torn } from './ending.ts';
import type { Remark } from './remarks.ts';

/** Bytes that are no lines, between one line and the next; they may begin in one file and go on in another. */
export interface Stray {
  /** Of those in the file in which they begin. */
  readonly remark: Remark;
  readonly pieces: readonly Piece[];
  /** Whether they end without a line's end, as what a crash has left does. */
  readonly open: boolean;
}

interface Piece {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** With one more that was found; it goes on to the end of the file until a line is found behind it. */
export function strayWith(
  stray: Stray | null,
  { path, from, to }: Piece,
  open: boolean,
  remark: Remark,
): Stray {
  const pieces = stray?.pieces ?? [];
  const last = pieces.at(-1);
  if (stray === null || last?.path !== path)
    return { remark: stray?.remark ?? remark, pieces: [...pieces, { path, from, to }], open };
  const range = stray.remark.file === remark.file && remark.line !== null ? { to: remark.line } : {};
  return {
    remark: { ...stray.remark, ...range },
    pieces: [...pieces.slice(0, -1), { ...last, to }],
    open,
  };
}

/** Whether they are what a line tells of that begins there. */
export async function isToldBy(
  stray: Stray,
  { torn_bytes, torn_sha256 }: Torn,
  path: string,
  start: number,
): Promise<boolean> {
  // The end that was written before that line is none of them.
  const pieces = stray.pieces.map((piece) => (piece.path === path ? { ...piece, to: start - 1 } : piece));
  const bytes = pieces.reduce((sum, { from, to }) => sum + to - from, 0);
  return bytes === torn_bytes && (await hashOf(pieces)) === torn_sha256;
}

async function hashOf(pieces: readonly Piece[]): Promise<string> {
  const hash = createHash('sha256');
  for (const { path, from, to } of pieces) {
    await using handle = await openRegular(path);
    // It ends with the handle, which closes itself.
    if (from < to)
      for await (const bytes of handle.createReadStream({ start: from, end: to - 1, autoClose: false }))
        hash.update(bytes as Buffer);
  }
  return hash.digest('hex');
}
