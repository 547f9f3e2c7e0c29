import { WorkcrateError } from '../errors.ts';
import {
  centralHeader,
  centralSignature,
  zipDamagedError,
  fillRange,
  zip64Mark16,
  zip64Mark32,
  localSignature,
  notAZipError,
  readNumber64,
  splitArchiveError,
  readZipRange,
  zipTruncatedError,
  toDataView,
  type RangeReader,
} from './fields.ts';
import { countBytesHeld, scanDirectory, type ZipDirectory } from './scan.ts';

export interface ZipDirectoryOptions {
  readonly signal?: AbortSignal;
  /** More are `too_large`. */
  readonly mostMembers?: number;
  /** The directory is kept in memory; a larger one is `too_large`. Below 4 GiB. */
  readonly mostDirectoryBytes?: number;
  /** Called before a directory is read that will take so many bytes of memory. */
  readonly reserve?: (bytes: number) => Promise<void>;
}

const maxZipMembers = 10_000_000;
/** A million members with plain names take some 90 MB. */
export const maxZipDirectoryBytes = 256 * 1024 * 1024;
/** What is asked for at once: the directory of some 200,000 members. */
const stepBytes = 16 * 1024 * 1024;

/** Reads the directory of an archive: its end, and then what the end points to. Nothing else of it is read. */
export async function readZipDirectory(
  bytes: RangeReader,
  options: ZipDirectoryOptions = {},
): Promise<ZipDirectory> {
  const { signal } = options;
  const tail = await readArchiveTail(bytes, signal);
  const location = await findDirectory(bytes, tail, signal);
  checkSize(location, options);
  await options.reserve?.(countBytesHeld(location.end - location.start, location.count));
  const buffer = await loadDirectory(bytes, tail, location, signal);
  return await scanDirectory(buffer, location, signal);
}

function checkSize(location: DirectoryLocation, options: ZipDirectoryOptions): void {
  const { mostMembers = maxZipMembers, mostDirectoryBytes = maxZipDirectoryBytes } = options;
  const size = location.end - location.start;
  if (location.count * centralHeader > size)
    throw zipDamagedError('its directory is too small for its members');
  if (location.count > mostMembers)
    throw directoryTooLargeError(
      `The zip lists ${location.count} members; at most ${mostMembers} can be read.`,
    );
  if (size > mostDirectoryBytes)
    throw directoryTooLargeError(
      `The zip has a directory of ${size} bytes; at most ${mostDirectoryBytes} can be read.`,
    );
}

function directoryTooLargeError(what: string): WorkcrateError {
  return new WorkcrateError('too_large', `${what} Download the whole archive instead, or split it.`);
}

/** The directory as it is in the archive; its last part came with the tail. */
async function loadDirectory(
  bytes: RangeReader,
  tail: ArchiveTail,
  { start, end }: DirectoryLocation,
  signal?: AbortSignal,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(end - start);
  const known = Math.min(Math.max(tail.start, start), end);
  for (let at = start; at < known; at += stepBytes)
    await fillRange(bytes, at, buffer.subarray(at - start, Math.min(at + stepBytes, known) - start), signal);
  tail.buffer.copy(buffer, known - start, known - tail.start, end - tail.start);
  return buffer;
}

const endRecordBytes = 22;
const endSignature = Buffer.from('PK\x05\x06', 'latin1');
/** The longest comment, its record, and the ZIP64 records in front of it. */
const tailBytes = 0xffff + endRecordBytes + 76;

/** The last bytes of an archive, and where among them its end record begins. */
export interface ArchiveTail {
  /** Where in the archive these bytes begin. */
  readonly start: number;
  readonly buffer: Buffer;
  readonly end: number;
}

async function readArchiveTail(bytes: RangeReader, signal?: AbortSignal): Promise<ArchiveTail> {
  if (bytes.size === 0) throw notAZipError('it is empty');
  const start = Math.max(bytes.size - tailBytes, 0);
  const buffer = await readZipRange(bytes, start, bytes.size - start, signal);
  const ends = [...findEndRecords(buffer)];
  const exact = ends.filter((at) => countTrailingBytes(buffer, at) === 0);
  if (exact.length === 1) return { start, buffer, end: exact[0]! };
  // Programs differ in which of them they use, so one could be shown and another one unpacked.
  if (exact.length > 1) throw zipDamagedError('it has two ends, one in the comment of the other');
  throw await missingEndError(bytes, start, buffer, ends[0] ?? null, signal);
}

/** From the last to the first. */
function* findEndRecords(buffer: Buffer): Generator<number> {
  let at = buffer.length - endRecordBytes;
  while (at >= 0) {
    at = buffer.lastIndexOf(endSignature, at);
    if (at >= 0) yield at;
    at--;
  }
}

/** How many bytes follow the record and its comment; negative where the comment is not all there. */
function countTrailingBytes(buffer: Buffer, at: number): number {
  return buffer.length - (at + endRecordBytes + buffer.readUInt16LE(at + 20));
}

async function missingEndError(
  bytes: RangeReader,
  start: number,
  buffer: Buffer,
  last: number | null,
  signal?: AbortSignal,
): Promise<Error> {
  if (last !== null && countTrailingBytes(buffer, last) < 0)
    return zipTruncatedError('its comment is incomplete');
  // An archive that was cut within a member that is itself a zip has the end of that one.
  const isOwn =
    last !== null && buffer.readUInt32LE(last + 12) + buffer.readUInt32LE(last + 16) === start + last;
  if (isOwn) return zipDamagedError(`${countTrailingBytes(buffer, last)} bytes follow its end`);
  if (last !== null || (await startsAsZip(bytes, signal)))
    return zipTruncatedError('its directory is missing');
  return notAZipError('there is no directory of members at its end');
}

async function startsAsZip(bytes: RangeReader, signal?: AbortSignal): Promise<boolean> {
  return bytes.size >= 4 && (await readZipRange(bytes, 0, 4, signal)).readUInt32LE(0) === localSignature;
}

/** Bytes of the archive, from the tail where it has them. */
async function readFromTail(
  bytes: RangeReader,
  tail: ArchiveTail,
  at: number,
  length: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  if (at < tail.start) return await readZipRange(bytes, at, Math.min(length, bytes.size - at), signal);
  return tail.buffer.subarray(at - tail.start, at - tail.start + length);
}

const endLocatorBytes = 20;
const locatorSignature = 0x07064b50;
const endRecord64Bytes = 56;
const recordSignature = 0x06064b50;
/** From this version on the record may be longer and tell how the directory is encrypted. */
const versionEncryptedDirectory = 62;

/** The end record of an archive that is too large for the old one. */
export interface Zip64 {
  readonly count: number;
  readonly size: number;
  readonly offset: number;
  /** Where the record itself begins. */
  readonly start: number;
  /** By how many bytes it is further on than stated. */
  readonly prefix: number;
}

/** Null where there is none. */
async function readZip64(bytes: RangeReader, tail: ArchiveTail, signal?: AbortSignal): Promise<Zip64 | null> {
  const at = tail.end - endLocatorBytes;
  if (at < 0 || tail.buffer.readUInt32LE(at) !== locatorSignature) return null;
  if (tail.buffer.readUInt32LE(at + 4) !== 0 || tail.buffer.readUInt32LE(at + 16) > 1)
    throw splitArchiveError();
  const stated = readNumber64(toDataView(tail.buffer), at + 8);
  const locator = tail.start + at;
  if (stated + endRecord64Bytes > locator) throw zipTruncatedError('its ZIP64 record lies beyond its end');
  // It is right before its locator, unless it has been made longer.
  for (const start of new Set([locator - endRecord64Bytes, stated])) {
    const record = await readFromTail(bytes, tail, start, endRecord64Bytes, signal);
    if (!isEndRecord(record, locator - start)) continue;
    checkEncryption(record, locator - start);
    return readZip64Record(record, start, start - stated);
  }
  throw zipDamagedError('its ZIP64 record is not where it should be');
}

function isEndRecord(record: Buffer, length: number): boolean {
  return record.readUInt32LE(0) === recordSignature && readNumber64(toDataView(record), 4) === length - 12;
}

function checkEncryption(record: Buffer, length: number): void {
  if (length === endRecord64Bytes || record.readUInt16LE(14) < versionEncryptedDirectory) return;
  throw new WorkcrateError(
    'zip_encrypted',
    'The directory of the zip is encrypted. Replace it with a copy that is not encrypted.',
  );
}

function readZip64Record(record: Buffer, start: number, prefix: number): Zip64 {
  const count = readNumber64(toDataView(record), 32);
  if (
    record.readUInt32LE(16) !== 0 ||
    record.readUInt32LE(20) !== 0 ||
    readNumber64(toDataView(record), 24) !== count
  )
    throw splitArchiveError();
  return {
    count,
    size: readNumber64(toDataView(record), 40),
    offset: readNumber64(toDataView(record), 48),
    start,
    prefix,
  };
}

/** Where the directory of an archive is. */
export interface DirectoryLocation {
  readonly count: number;
  readonly start: number;
  readonly end: number;
  /** What has to be added to every offset that the archive states: the length of what was put in front of it. */
  readonly prefix: number;
}

interface StatedDirectory {
  readonly count: number;
  readonly size: number;
  readonly offset: number;
}

async function findDirectory(
  bytes: RangeReader,
  tail: ArchiveTail,
  signal?: AbortSignal,
): Promise<DirectoryLocation> {
  const wide = await readZip64(bytes, tail, signal);
  const stated = wide === null ? parsePlainEnd(tail) : checkAgreement(tail, wide);
  const before = wide?.start ?? tail.start + tail.end;
  const gap = before - (stated.offset + stated.size);
  if (gap < 0) throw zipTruncatedError('its directory lies beyond its end');
  if (wide !== null && gap !== wide.prefix)
    throw zipDamagedError('its ZIP64 records disagree with each other');
  const prefix = gap === 0 ? 0 : await findPrefixBytes(bytes, tail, stated, gap, signal);
  const start = stated.offset + prefix;
  return { count: stated.count, start, end: start + stated.size, prefix };
}

function parsePlainEnd({ buffer, end }: ArchiveTail): StatedDirectory {
  if (buffer.readUInt32LE(end + 4) !== 0) throw splitArchiveError();
  const count = buffer.readUInt16LE(end + 10);
  if (buffer.readUInt16LE(end + 8) !== count) throw splitArchiveError();
  return { count, size: buffer.readUInt32LE(end + 12), offset: buffer.readUInt32LE(end + 16) };
}

/** What the old record states has to be the same, or all ones. */
function checkAgreement({ buffer, end }: ArchiveTail, wide: Zip64): StatedDirectory {
  const agrees =
    [4, 6].every((at) => [0, zip64Mark16].includes(buffer.readUInt16LE(end + at))) &&
    [8, 10].every((at) => [wide.count, zip64Mark16].includes(buffer.readUInt16LE(end + at))) &&
    [wide.size, zip64Mark32].includes(buffer.readUInt32LE(end + 12)) &&
    [wide.offset, zip64Mark32].includes(buffer.readUInt32LE(end + 16));
  if (!agrees) throw zipDamagedError('its two end records disagree');
  return wide;
}

/**
 * Bytes between the directory and the end record are either there, or as many were put in front of the archive, such
 * as a program that unpacks it. Where the directory is found decides.
 */
async function findPrefixBytes(
  bytes: RangeReader,
  tail: ArchiveTail,
  stated: StatedDirectory,
  gap: number,
  signal?: AbortSignal,
): Promise<number> {
  if (stated.count === 0) return gap;
  const isAt = async (at: number) => {
    const piece = await readFromTail(bytes, tail, at, 4, signal);
    return piece.length === 4 && piece.readUInt32LE(0) === centralSignature;
  };
  const [inFront, between] = [await isAt(stated.offset + gap), await isAt(stated.offset)];
  if (inFront === between) throw zipDamagedError('its directory is not where its end record says');
  if (between) return 0;
  // The end of a zip within a zip that was cut short behind it looks the same.
  if (await startsAsZip(bytes, signal))
    throw zipDamagedError('two archives follow each other, or it was cut off within a zip that it contains');
  return gap;
}
