import { WorkcrateError } from '../errors.ts';
import { checkEntries, type ZipEntry } from './entry.ts';
import { at, end, indexAt, offsetsOf, type Offsets } from './offsets.ts';
import { centralHeader, endRecords, localHeader, localHeaderSize } from './records.ts';

export type { ZipEntry } from './entry.ts';
export { uniqueNames } from './unique-names.ts';

/** Either bytes of the archive itself, or the bytes from `start` up to `end` of the file at index `entry`. */
export type ZipPart =
  | { readonly bytes: Uint8Array }
  | { readonly entry: number; readonly start: number; readonly end: number };

export interface ZipLayout {
  readonly size: number;
  /** What makes up the archive from byte `start` up to, not including, `end`. Made as it is asked for. */
  parts(start: number, end: number): Iterable<ZipPart>;
}

const CHUNK = 64 * 1024;

/**
 * A ZIP that is known to the byte before any file is read, so that a link can state its Content-Length and
 * answer a Range. Possible because files are stored, not compressed, and immutable: their CRC-32 is known.
 * The entries must not change while the layout is in use.
 */
export function zipLayout(entries: readonly ZipEntry[]): ZipLayout {
  checkEntries(entries);
  const offsets = offsetsOf(entries);
  const tail = endRecords(entries.length, end(offsets.local), end(offsets.central));
  const size = end(offsets.central) + tail.length;
  return {
    size,
    parts(from, to) {
      checkRange(from, to, size);
      return partsBetween(entries, offsets, tail, from, to);
    },
  };
}

function checkRange(from: number, to: number, size: number): void {
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && 0 <= from && from <= to && to <= size) return;
  throw new WorkcrateError('invalid_input', `Bytes ${from} to ${to} are not within the ZIP's ${size} bytes.`);
}

function* partsBetween(
  entries: readonly ZipEntry[],
  offsets: Offsets,
  tail: Buffer,
  from: number,
  to: number,
): Generator<ZipPart> {
  yield* filesBetween(entries, offsets, from, to);
  yield* directoryBetween(entries, offsets, from, to);
  yield* clipped(tail, end(offsets.central), from, to);
}

function* filesBetween(
  entries: readonly ZipEntry[],
  { local }: Offsets,
  from: number,
  to: number,
): Generator<ZipPart> {
  for (let index = indexAt(local, from); index < entries.length && at(local, index) < to; index++) {
    const entry = entries[index] as ZipEntry;
    const data = at(local, index) + localHeaderSize(entry);
    if (from < data) yield* clipped(localHeader(entry), at(local, index), from, to);
    const start = Math.max(from - data, 0);
    const stop = Math.min(to - data, entry.size);
    if (start < stop) yield { entry: index, start, end: stop };
  }
}

/** The central directory in chunks, as all of it may take megabytes. */
function* directoryBetween(
  entries: readonly ZipEntry[],
  { local, central }: Offsets,
  from: number,
  to: number,
): Generator<ZipPart> {
  let first = indexAt(central, from);
  while (first < entries.length && at(central, first) < to) {
    const next = Math.max(first + 1, indexAt(central, at(central, first) + CHUNK));
    const headers = entries.slice(first, next).map((entry, i) => centralHeader(entry, at(local, first + i)));
    yield* clipped(Buffer.concat(headers), at(central, first), from, to);
    first = next;
  }
}

/** As much of `bytes`, which stand at `position` in the archive, as lies within the range. */
function* clipped(bytes: Buffer, position: number, from: number, to: number): Generator<ZipPart> {
  const part = bytes.subarray(Math.max(from - position, 0), Math.max(to - position, 0));
  if (part.length > 0) yield { bytes: part };
}
