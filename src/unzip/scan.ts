import { startTimeSlices } from '../concurrency/yield.ts';
import { checkedExtents, type Extents } from './extents.ts';
import { damaged } from './failures.ts';
import { CENTRAL_HEADER, LOCAL_HEADER, unicodePath, viewOf } from './fields.ts';
import { memberOf, type ZipMember } from './member.ts';
import { isPlain, nameOf, type MemberName } from './names.ts';
import { pathTable, type PathTable, type Span } from './path-table.ts';
import type { DirectoryPlace } from './place.ts';
import { readRecord, type CentralRecord } from './record.ts';
import { bytesHeld, isWorthSlimming, slimmed } from './slim.ts';

/** What an archive holds. Members are made as they are asked for: it keeps some 100 bytes for each. */
export interface ZipDirectory extends Iterable<ZipMember> {
  readonly length: number;
  /** What it takes in memory, in bytes. */
  readonly heldBytes: number;
  /** By its place in the directory, from 0 on. */
  at(index: number): ZipMember;
  /** By its exact path: neither case nor Unicode form is folded. The first where there are several. */
  find(path: string): ZipMember | null;
  /** Its name as it stands in the archive. */
  nameBytes(index: number): Uint8Array;
  /** Up to where the local header and the bytes of a member may reach: the next member, or the directory. */
  roomOf(member: ZipMember): number;
}

/** What is remembered of all members beside the directory itself. */
interface Scanned {
  buffer: Buffer;
  /** Of the same bytes. */
  view: DataView;
  readonly prefix: number;
  /** Where the record of each begins. */
  readonly positions: Uint32Array;
  /** NEEDS_DECODING, IS_DUPLICATE. */
  readonly marks: Uint8Array;
}

const NEEDS_DECODING = 1;
const IS_DUPLICATE = 2;

/** After so many records it is asked whether others have their turn: some have 64 KiB of fields to go through. */
const BATCH = 64;

/** Goes through the directory once, record by record, and proves that it adds up. */
export async function scan(
  buffer: Buffer,
  place: DirectoryPlace,
  signal?: AbortSignal,
): Promise<ZipDirectory> {
  const { count, prefix } = place;
  const view = viewOf(buffer);
  const scanned: Scanned = {
    buffer,
    view,
    prefix,
    positions: new Uint32Array(count),
    marks: new Uint8Array(count),
  };
  const [starts, ends] = [new Float64Array(count), new Float64Array(count)];
  const table = tableOf(scanned);
  const slices = startTimeSlices(signal);
  let [position, besideNames] = [0, 0];
  // A loop of its own, without an await in it, is compiled far better.
  const scanUpTo = (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      const record = readRecord(view, position);
      scanned.positions[index] = position;
      starts[index] = record.offset + prefix;
      ends[index] = starts[index]! + LOCAL_HEADER + record.nameEnd - record.nameStart + record.compressedSize;
      enter(scanned, table, index, record);
      position = record.end;
      besideNames += record.end - record.nameEnd;
    }
  };
  for (let from = 0; from < count; from += BATCH) {
    if (slices.isOver()) await slices.next();
    scanUpTo(from, Math.min(from + BATCH, count));
  }
  if (position !== buffer.length) throw damaged('its directory holds more than its end record says');
  if (isWorthSlimming(besideNames, count)) {
    scanned.buffer = await slimmed(buffer, scanned.positions, slices);
    scanned.view = viewOf(scanned.buffer);
  }
  return directoryOf(scanned, table, checkedExtents(starts, ends, place.start));
}

/** On its own, since a function made within another keeps all that the other has in hand, such as the first buffer. */
function tableOf(scanned: Scanned): PathTable {
  return pathTable(scanned.positions.length, (index, span) => pathBytes(scanned, index, span));
}

/** Makes the member known by its path, unless it has none that is safe. */
function enter(scanned: Scanned, table: PathTable, index: number, record: CentralRecord): void {
  const { buffer, marks } = scanned;
  if (!isPlain(buffer, record.nameStart, record.nameEnd) || hasSecondName(scanned, record)) {
    marks[index] = NEEDS_DECODING;
    if (nameAt(scanned, record).path === null) return;
  }
  const first = table.add(index);
  if (first === null) return;
  marks[index]! |= IS_DUPLICATE;
  marks[first]! |= IS_DUPLICATE;
}

function hasSecondName({ view }: Scanned, { nameEnd, extraEnd }: CentralRecord): boolean {
  return unicodePath(view, nameEnd, extraEnd) !== null;
}

function nameAt({ buffer, view }: Scanned, { nameStart, nameEnd, extraEnd }: CentralRecord): MemberName {
  return nameOf(buffer.subarray(nameStart, nameEnd), unicodePath(view, nameEnd, extraEnd));
}

/** The path of a member that has one, in UTF-8, and where in the bytes it stands. */
function pathBytes(scanned: Scanned, index: number, found: Span): void {
  const { buffer, view, positions, marks } = scanned;
  const position = positions[index]!;
  if ((marks[index]! & NEEDS_DECODING) === 0) {
    found.bytes = buffer;
    found.start = position + CENTRAL_HEADER;
    found.end = found.start + view.getUint16(position + 28, true);
    return;
  }
  found.bytes = Buffer.from(nameAt(scanned, readRecord(view, position)).path ?? '');
  found.start = 0;
  found.end = found.bytes.length;
}

function directoryOf(scanned: Scanned, table: PathTable, extents: Extents): ZipDirectory {
  const { buffer, view, positions } = scanned;
  const at = (index: number) => memberAt(scanned, index);
  return {
    length: positions.length,
    heldBytes: bytesHeld(buffer.length, positions.length),
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

function memberAt(scanned: Scanned, index: number): ZipMember {
  const { buffer, view, prefix, positions, marks } = scanned;
  const position = positions[index];
  if (position === undefined) throw new RangeError(`The archive has no member ${index}.`);
  const record = readRecord(view, position);
  const name =
    (marks[index]! & NEEDS_DECODING) === 0
      ? plainName(buffer.toString('latin1', record.nameStart, record.nameEnd))
      : nameAt(scanned, record);
  const isDuplicate = (marks[index]! & IS_DUPLICATE) !== 0;
  return memberOf(record, view, name, { index, prefix, isDuplicate });
}

function plainName(name: string): MemberName {
  return { raw: name, path: name, problem: null };
}
