/**
 * Finds where the log ends on disk, and what a crash left behind its last line. It changes nothing: the next line that
 * is written tells of it.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { listAuditFilesSync, NotAFile, openRegularSync } from './files.ts';
import { isSealIntact, parseChainLink, maxLineBytes, type ChainPosition } from './line.ts';

/**
 * Bytes after the last line: the start of a line whose writer was killed, or zeros after a loss of power. They stay as
 * evidence, and the next line records their length and hash.
 */
export interface Torn {
  readonly torn_bytes: number;
  readonly torn_sha256: string;
}

/** How a log ends on disk. */
export interface Ending {
  /** Null where there is no file. */
  readonly file: string | null;
  /** Of the last line that can be read; null where there is none. */
  readonly last: ChainPosition | null;
  /** Whether the last line has no end. */
  readonly open: boolean;
  readonly torn: Torn | null;
  /** Whether the last file has a line. */
  readonly begun: boolean;
}

/** The end of one file, behind its last line. */
interface FileTail {
  readonly path: string;
  readonly last: ChainPosition | null;
  readonly begun: boolean;
  readonly from: number;
  readonly size: number;
  readonly open: boolean;
}

/** From the newest file back to one that has a line that can be read. */
export function readChainEnding(folder: string, key: string | null): Ending {
  const tails: FileTail[] = [];
  let newest: string | null = null;
  for (const file of listAuditFilesSync(folder).toReversed()) {
    const tail = tryReadTail(join(folder, file), key);
    if (tail === null) continue;
    newest ??= file;
    tails.unshift(tail);
    if (tail.last !== null) break;
  }
  const end = tails.at(-1);
  return {
    file: newest,
    last: tails[0]?.last ?? null,
    open: end?.open ?? false,
    torn: findTornPieces(tails),
    begun: end?.begun ?? false,
  };
}

/** Null for what is not a file: nothing is read there, and `verify.ts` reports it. */
function tryReadTail(path: string, key: string | null): FileTail | null {
  try {
    return readFileTail(path, key);
  } catch (error) {
    if (error instanceof NotAFile) return null;
    throw error;
  }
}

/** More than a crash leaves behind; of a file that ends otherwise nobody has to know where its last line is. */
const maxEndBytes = 64 * 1024 ** 2;

function readFileTail(path: string, key: string | null): FileTail {
  const fd = openRegularSync(path, constants.O_RDONLY);
  try {
    const { size } = fstatSync(fd);
    for (let most = 2 * maxLineBytes; ; most *= 4) {
      const bytes = readBytesBetween(fd, Math.max(0, size - most), size);
      const open = bytes.length > 0 && bytes.at(-1) !== 0x0a;
      const found = findLastLine(bytes, key);
      if (found !== null || bytes.length === size || most > maxEndBytes) {
        const from = size - bytes.length + (found?.end ?? 0);
        return { path, last: found?.place ?? null, begun: found !== null, from, size, open };
      }
    }
  } finally {
    closeSync(fd);
  }
}

/** No log gets so long. Continuing from a forged higher number would run out of numbers. */
const maxSeq = 1e14;

/**
 * Where the last line ends, and the place to go on from: that of the last line that is as it was written. Others may
 * be forged; they are gone on from only where there is nothing else, as after a change of the key.
 */
function findLastLine(
  bytes: Buffer,
  key: string | null,
): { place: ChainPosition | null; end: number } | null {
  const whole = bytes.lastIndexOf(0x0a) + 1;
  const rest = bytes.subarray(whole);
  const unended = parseChainLink(rest);
  let end = unended !== null && isSealIntact(rest, unended, key) ? bytes.length : 0;
  let place: ChainPosition | null = null;
  if (unended !== null && end > 0 && unended.seq < maxSeq) return { place: unended, end };
  for (let stop = whole - 1; stop > 0;) {
    const start = bytes.lastIndexOf(0x0a, stop - 1) + 1;
    const line = bytes.subarray(start, stop);
    const link = parseChainLink(line);
    if (link !== null) end ||= stop + 1;
    if (link !== null && link.seq < maxSeq) {
      if (isSealIntact(line, link, key)) return { place: link, end };
      place ??= link;
    }
    stop = start - 1;
  }
  return end === 0 ? null : { place, end };
}

/** What ends with a line's end is none that a crash has left. */
function findTornPieces(tails: readonly FileTail[]): Torn | null {
  const pieces = tails.filter(({ from, size }) => from < size);
  const last = pieces.at(-1);
  if (last === undefined || !last.open) return null;
  const hash = createHash('sha256');
  for (const piece of pieces) hashPiece(hash, piece);
  return {
    torn_bytes: pieces.reduce((sum, { from, size }) => sum + size - from, 0),
    torn_sha256: hash.digest('hex'),
  };
}

function hashPiece(hash: ReturnType<typeof createHash>, { path, from, size }: FileTail): void {
  const fd = openRegularSync(path, constants.O_RDONLY);
  try {
    const step = 1024 ** 2;
    for (let at = from; at < size; at += step)
      hash.update(readBytesBetween(fd, at, Math.min(size, at + step)));
  } finally {
    closeSync(fd);
  }
}

function readBytesBetween(fd: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from));
}
