import { startTimeSlices, type TimeSlices } from '../concurrency/yield.ts';
import type { DirectoryLocation } from './directory.ts';
import {
  centralHeader,
  centralSignature,
  zipDamagedError,
  zip64Mark16,
  zip64Mark32,
  localHeader,
  readNumber64,
  packNeededFields,
  splitArchiveError,
  readUnicodePath,
  toDataView,
  findZip64Numbers,
} from './fields.ts';
import { isPlainMemberName, toZipMember, readMemberName, type MemberName, type ZipMember } from './member.ts';
import { createPathTable, type PathTable, type Span } from './path-table.ts';

/** The members of an archive. They are made on demand: it keeps some 100 bytes for each. */
export interface ZipDirectory extends Iterable<ZipMember> {
  readonly length: number;
  /** What it takes in memory, in bytes. */
  readonly heldBytes: number;
  /** By its place in the directory, from 0 on. */
  at(index: number): ZipMember;
  /** By its exact path: neither case nor Unicode form is folded. The first where there are several. */
  find(path: string): ZipMember | null;
  /** Its name as it is in the archive. */
  nameBytes(index: number): Uint8Array;
  /** Up to where the local header and the bytes of a member may reach: the next member, or the directory. */
  roomOf(member: ZipMember): number;
}

/** What is remembered of all members beside the directory itself. */
interface ScannedDirectory {
  buffer: Buffer;
  /** Of the same bytes. */
  view: DataView;
  readonly prefix: number;
  /** Where the record of each begins. */
  readonly positions: Uint32Array;
  /** `needsDecoding` and `duplicateFlag`. */
  readonly marks: Uint8Array;
}

const needsDecoding = 1;
const duplicateFlag = 2;

/** After so many records it may yield to the event loop: some records have 64 KiB of fields. */
const scanBatch = 64;

/** Goes through the directory once, record by record, and proves that it adds up. */
export async function scanDirectory(
  buffer: Buffer,
  location: DirectoryLocation,
  signal?: AbortSignal,
): Promise<ZipDirectory> {
  const { count, prefix } = location;
  const view = toDataView(buffer);
  const scanned: ScannedDirectory = {
    buffer,
    view,
    prefix,
    positions: new Uint32Array(count),
    marks: new Uint8Array(count),
  };
  const [starts, ends] = [new Float64Array(count), new Float64Array(count)];
  const table = buildPathTable(scanned);
  const slices = startTimeSlices(signal);
  let [position, besideNames] = [0, 0];
  // A loop of its own, without an await in it, is compiled far better.
  const scanUpTo = (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      const record = readRecord(view, position);
      scanned.positions[index] = position;
      starts[index] = record.offset + prefix;
      ends[index] = starts[index]! + localHeader + record.nameEnd - record.nameStart + record.compressedSize;
      enterMember(scanned, table, index, record);
      position = record.end;
      besideNames += record.end - record.nameEnd;
    }
  };
  for (let from = 0; from < count; from += scanBatch) {
    if (slices.isOver()) await slices.next();
    scanUpTo(from, Math.min(from + scanBatch, count));
  }
  if (position !== buffer.length)
    throw zipDamagedError('its directory contains more than its end record says');
  if (isWorthSlimming(besideNames, count)) {
    scanned.buffer = await slimDirectory(buffer, scanned.positions, slices);
    scanned.view = toDataView(scanned.buffer);
  }
  return toZipDirectory(scanned, table, checkExtents(starts, ends, location.start));
}

/** A function of its own, since a closure keeps all variables around it alive, such as the first buffer. */
function buildPathTable(scanned: ScannedDirectory): PathTable {
  return createPathTable(scanned.positions.length, (index, span) => pathBytes(scanned, index, span));
}

/** Makes the member known by its path, unless it has none that is safe. */
function enterMember(
  scanned: ScannedDirectory,
  table: PathTable,
  index: number,
  record: CentralRecord,
): void {
  const { buffer, marks } = scanned;
  if (!isPlainMemberName(buffer, record.nameStart, record.nameEnd) || hasSecondName(scanned, record)) {
    marks[index] = needsDecoding;
    if (readNameAt(scanned, record).path === null) return;
  }
  const first = table.add(index);
  if (first === null) return;
  marks[index]! |= duplicateFlag;
  marks[first]! |= duplicateFlag;
}

function hasSecondName({ view }: ScannedDirectory, { nameEnd, extraEnd }: CentralRecord): boolean {
  return readUnicodePath(view, nameEnd, extraEnd) !== null;
}

function readNameAt(
  { buffer, view }: ScannedDirectory,
  { nameStart, nameEnd, extraEnd }: CentralRecord,
): MemberName {
  return readMemberName(buffer.subarray(nameStart, nameEnd), readUnicodePath(view, nameEnd, extraEnd));
}

/** The path of a member that has one, in UTF-8, and where in the bytes it is. */
function pathBytes(scanned: ScannedDirectory, index: number, found: Span): void {
  const { buffer, view, positions, marks } = scanned;
  const position = positions[index]!;
  if ((marks[index]! & needsDecoding) === 0) {
    found.bytes = buffer;
    found.start = position + centralHeader;
    found.end = found.start + view.getUint16(position + 28, true);
    return;
  }
  found.bytes = Buffer.from(readNameAt(scanned, readRecord(view, position)).path ?? '');
  found.start = 0;
  found.end = found.bytes.length;
}

function toZipDirectory(scanned: ScannedDirectory, table: PathTable, extents: Extents): ZipDirectory {
  const { buffer, view, positions } = scanned;
  const at = (index: number) => memberAt(scanned, index);
  return {
    length: positions.length,
    heldBytes: countBytesHeld(buffer.length, positions.length),
    at,
    find(path) {
      const index = table.find(Buffer.from(path));
      return index === null ? null : at(index);
    },
    nameBytes(index) {
      const { nameStart, nameEnd } = readRecord(view, positions[index]!);
      return buffer.subarray(nameStart, nameEnd);
    },
    roomOf: (member) => extents.roomOf(member.offset),
    *[Symbol.iterator]() {
      for (let index = 0; index < positions.length; index++) yield at(index);
    },
  };
}

function memberAt(scanned: ScannedDirectory, index: number): ZipMember {
  const { buffer, view, prefix, positions, marks } = scanned;
  const position = positions[index];
  if (position === undefined) throw new RangeError(`The archive has no member ${index}.`);
  const record = readRecord(view, position);
  const name =
    (marks[index]! & needsDecoding) === 0
      ? readPlainName(buffer.toString('latin1', record.nameStart, record.nameEnd))
      : readNameAt(scanned, record);
  const isDuplicate = (marks[index]! & duplicateFlag) !== 0;
  return toZipMember(record, view, name, { index, prefix, isDuplicate });
}

function readPlainName(name: string): MemberName {
  return { raw: name, path: name, problem: null };
}

/** Where in the directory the parts of a record are, and the numbers that may be in its ZIP64 field; `offset` is as stated. */
export interface CentralRecord {
  readonly start: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly offset: number;
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly extraEnd: number;
  readonly end: number;
}

function readRecord(view: DataView, at: number): CentralRecord {
  if (at + centralHeader > view.byteLength || view.getUint32(at, true) !== centralSignature)
    throw zipDamagedError('its directory does not contain what its end record says');
  const nameStart = at + centralHeader;
  const nameEnd = nameStart + view.getUint16(at + 28, true);
  const extraEnd = nameEnd + view.getUint16(at + 30, true);
  const end = extraEnd + view.getUint16(at + 32, true);
  if (end > view.byteLength) throw zipDamagedError('the last record of its directory is incomplete');
  const disk = view.getUint16(at + 34, true);
  if (disk !== 0 && disk !== zip64Mark16) throw splitArchiveError();
  let compressedSize = view.getUint32(at + 20, true);
  let size = view.getUint32(at + 24, true);
  let offset = view.getUint32(at + 42, true);
  const wide =
    Number(size === zip64Mark32) + Number(compressedSize === zip64Mark32) + Number(offset === zip64Mark32);
  if (wide > 0) {
    // Only what did not fit is in the ZIP64 field, in this order.
    let next = findZip64Numbers(view, nameEnd, extraEnd, wide) - 8;
    if (size === zip64Mark32) size = readNumber64(view, (next += 8));
    if (compressedSize === zip64Mark32) compressedSize = readNumber64(view, (next += 8));
    if (offset === zip64Mark32) offset = readNumber64(view, (next += 8));
  }
  return { start: at, compressedSize, size, offset, nameStart, nameEnd, extraEnd, end };
}

/** Where members begin in the archive, in order. */
export interface Extents {
  /** Up to where the member that begins at `start` may reach. */
  roomOf(start: number): number;
}

/**
 * Members that share bytes make a small archive unpack to a huge one (a zip bomb); no honest archive has them. Each
 * array is sorted by itself: if no member begins before as many others have ended, no two of them overlap.
 */
function checkExtents(starts: Float64Array, ends: Float64Array, directory: number): Extents {
  sortIfNeeded(starts);
  sortIfNeeded(ends);
  if ((ends.at(-1) ?? 0) > directory) throw zipDamagedError('a member overlaps its directory');
  for (let index = 1; index < starts.length; index++)
    if (starts[index]! < ends[index - 1]!) throw zipDamagedError('members overlap');
  return { roomOf: (start) => findFirstAfter(starts, start) ?? directory };
}

/** Members are usually in the order of the directory. */
function sortIfNeeded(numbers: Float64Array): void {
  for (let index = 1; index < numbers.length; index++)
    if (numbers[index]! < numbers[index - 1]!) {
      numbers.sort();
      return;
    }
}

/** The first that is greater. */
function findFirstAfter(starts: Float64Array, start: number): number | null {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! <= start) low = middle + 1;
    else high = middle;
  }
  return starts[low] ?? null;
}

/** What common tools write after a name is not worth the work. */
const usualNameBytes = 48;

/** Whether much of a directory is comments and fields, which may be 128 KiB of each member. */
function isWorthSlimming(besideNames: number, count: number): boolean {
  return besideNames > count * usualNameBytes;
}

/**
 * The directory without what nobody needs, in a new buffer, and `positions` in it. The old buffer can no longer be
 * used.
 */
export async function slimDirectory(
  buffer: Buffer,
  positions: Uint32Array,
  slices: TimeSlices,
): Promise<Buffer> {
  const view = toDataView(buffer);
  let end = 0;
  for (let index = 0; index < positions.length; index++) {
    if (index % 64 === 0 && slices.isOver()) await slices.next();
    const start = end;
    end = moveRecord(buffer, view, positions[index]!, start);
    positions[index] = start;
  }
  const kept = Buffer.allocUnsafeSlow(end);
  buffer.copy(kept, 0, 0, end);
  // Freed at once: the garbage collector does not see hundreds of megabytes outside its own heap.
  (buffer.buffer as ArrayBuffer).transfer(0);
  return kept;
}

/** Moves a record towards the beginning, and so never onto what is still to be read; gives where it ends. */
function moveRecord(buffer: Buffer, view: DataView, from: number, to: number): number {
  const { nameEnd, extraEnd } = readRecord(view, from);
  const length = nameEnd - from;
  buffer.copyWithin(to, from, nameEnd);
  const end = packNeededFields(buffer, { start: nameEnd, end: extraEnd }, to + length);
  view.setUint16(to + 30, end - to - length, true);
  view.setUint16(to + 32, 0, true);
  return end;
}

/** What a directory takes in memory: its bytes, and the tables over its members. */
export const countBytesHeld = (bytes: number, count: number): number => bytes + count * 32;
