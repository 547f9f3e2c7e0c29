/**
 * Computes a ZIP archive of stored files to the byte before any file is read. It does not compress, and it does not read
 * the files: whoever sends the archive puts their bytes between the headers.
 */
import { WorkcrateError } from '../errors.ts';
import {
  buildCentralHeader,
  countCentralHeaderBytes,
  buildEndRecords,
  buildLocalHeader,
  countLocalHeaderBytes,
} from './records.ts';

export { numberEqualNames } from './unique-names.ts';

/** Either bytes of the archive itself, or the bytes from `start` up to `end` of the file at index `entry`. */
export type ZipPart =
  | { readonly bytes: Uint8Array }
  | { readonly entry: number; readonly start: number; readonly end: number };

export interface ZipLayout {
  readonly size: number;
  /** The parts of the archive from byte `start` up to, not including, `end`. Made on demand. */
  parts(start: number, end: number): Iterable<ZipPart>;
}

const zipChunk = 64 * 1024;

/**
 * A ZIP that is known to the byte before any file is read, so that a link can state its Content-Length and
 * answer a Range. Possible because files are stored, not compressed, and immutable: their CRC-32 is known.
 * The entries must not change while the layout is in use.
 */
export function createZipLayout(entries: readonly ZipEntry[]): ZipLayout {
  checkEntries(entries);
  const offsets = computeOffsets(entries);
  const tail = buildEndRecords(entries.length, getEndOffset(offsets.local), getEndOffset(offsets.central));
  const size = getEndOffset(offsets.central) + tail.length;
  return {
    size,
    parts(from, to) {
      checkRange(from, to, size);
      return listPartsBetween(entries, offsets, tail, from, to);
    },
  };
}

function checkRange(from: number, to: number, size: number): void {
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && 0 <= from && from <= to && to <= size) return;
  throw new WorkcrateError('invalid_input', `Bytes ${from} to ${to} are not within the ZIP's ${size} bytes.`);
}

function* listPartsBetween(
  entries: readonly ZipEntry[],
  offsets: Offsets,
  tail: Buffer,
  from: number,
  to: number,
): Generator<ZipPart> {
  yield* listFilesBetween(entries, offsets, from, to);
  yield* listDirectoryBetween(entries, offsets, from, to);
  yield* clipToRange(tail, getEndOffset(offsets.central), from, to);
}

function* listFilesBetween(
  entries: readonly ZipEntry[],
  { local }: Offsets,
  from: number,
  to: number,
): Generator<ZipPart> {
  for (
    let index = findIndexAt(local, from);
    index < entries.length && getOffset(local, index) < to;
    index++
  ) {
    const entry = entries[index] as ZipEntry;
    const data = getOffset(local, index) + countLocalHeaderBytes(entry);
    if (from < data) yield* clipToRange(buildLocalHeader(entry), getOffset(local, index), from, to);
    const start = Math.max(from - data, 0);
    const stop = Math.min(to - data, entry.size);
    if (start < stop) yield { entry: index, start, end: stop };
  }
}

/** The central directory in chunks, as all of it may take megabytes. */
function* listDirectoryBetween(
  entries: readonly ZipEntry[],
  { local, central }: Offsets,
  from: number,
  to: number,
): Generator<ZipPart> {
  let first = findIndexAt(central, from);
  while (first < entries.length && getOffset(central, first) < to) {
    const next = Math.max(first + 1, findIndexAt(central, getOffset(central, first) + zipChunk));
    const headers = entries
      .slice(first, next)
      .map((entry, i) => buildCentralHeader(entry, getOffset(local, first + i)));
    yield* clipToRange(Buffer.concat(headers), getOffset(central, first), from, to);
    first = next;
  }
}

/** The part of `bytes`, which are at `position` in the archive, that is within the range. */
function* clipToRange(bytes: Buffer, position: number, from: number, to: number): Generator<ZipPart> {
  const part = bytes.subarray(Math.max(from - position, 0), Math.max(to - position, 0));
  if (part.length > 0) yield { bytes: part };
}

/**
 * Where each entry's records begin in the archive: 16 bytes per entry instead of the records themselves.
 * Each array has one number more than there are entries, namely where its section ends.
 */
export interface Offsets {
  readonly local: Float64Array;
  readonly central: Float64Array;
}

function computeOffsets(entries: readonly ZipEntry[]): Offsets {
  const local = new Float64Array(entries.length + 1);
  entries.forEach((entry, index) => {
    local[index + 1] = getOffset(local, index) + countLocalHeaderBytes(entry) + entry.size;
  });
  const central = new Float64Array(entries.length + 1);
  central[0] = getEndOffset(local);
  entries.forEach((entry, index) => {
    central[index + 1] = getOffset(central, index) + countCentralHeaderBytes(entry, getOffset(local, index));
  });
  return checkSafeOffsets({ local, central });
}

/** Beyond 2^53 the sums are rounded, and the archive would not be what its size says. */
function checkSafeOffsets(offsets: Offsets): Offsets {
  if (getEndOffset(offsets.central) <= 2 ** 52) return offsets;
  throw new WorkcrateError('invalid_input', 'These files are too large for one ZIP; make several.');
}

/** An offset that exists. */
function getOffset(offsets: Float64Array, index: number): number {
  return offsets[index] as number;
}

/** Where the section ends. */
function getEndOffset(offsets: Float64Array): number {
  return getOffset(offsets, offsets.length - 1);
}

/** The last index whose offset is not beyond `position`; 0 when all are. */
function findIndexAt(offsets: Float64Array, position: number): number {
  let low = 0;
  let high = offsets.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (getOffset(offsets, middle) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A file to be stored. `modified` is in milliseconds since 1970. */
export interface ZipEntry {
  readonly name: string;
  readonly size: number;
  readonly crc32: number;
  readonly modified: number;
}

/** Refuses what an unpacker could not restore, or would write outside the folder it unpacks to. */
function checkEntries(entries: readonly ZipEntry[]): void {
  if (entries.length === 0) throw invalidEntryError('A ZIP needs at least one file.');
  const seen = new Set<string>();
  for (const entry of entries) {
    checkName(entry.name);
    checkNumbers(entry);
    if (seen.has(entry.name))
      throw invalidEntryError(`Two files are named ${quoteEntryName(entry.name)}; rename one of them.`);
    seen.add(entry.name);
  }
}

function checkName(name: string): void {
  if (/[\\\0]/.test(name))
    throw invalidEntryError(`${quoteEntryName(name)} contains a backslash or NUL; remove it.`);
  if (/^[a-z]:/i.test(name))
    throw invalidEntryError(`${quoteEntryName(name)} begins with a drive letter; remove it.`);
  // An empty component is a leading, doubled or trailing slash.
  if (name.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw invalidEntryError(
      `${quoteEntryName(name)} is not a relative path of a file; use one such as data/plot.png.`,
    );
  // Two names that differ in a lone surrogate would become the same bytes.
  if (!name.isWellFormed())
    throw invalidEntryError(`${quoteEntryName(name)} is not valid Unicode; rename the file.`);
  if (Buffer.byteLength(name) > 0xffff)
    throw invalidEntryError(`${quoteEntryName(name)} is longer than 65,535 bytes.`);
}

function checkNumbers({ name, size, crc32 }: ZipEntry): void {
  if (!Number.isSafeInteger(size) || size < 0)
    throw invalidEntryError(
      `The size of ${quoteEntryName(name)} must be a whole number of bytes, not ${size}.`,
    );
  if (crc32 !== crc32 >>> 0)
    throw invalidEntryError(
      `The CRC-32 of ${quoteEntryName(name)} must be an unsigned 32-bit number, not ${crc32}.`,
    );
}

function quoteEntryName(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}

function invalidEntryError(message: string): WorkcrateError {
  return new WorkcrateError('invalid_input', message);
}
