import { damaged, notAZip, truncated } from './failures.ts';
import { LOCAL_SIGNATURE } from './fields.ts';
import { take, type Ranged } from './ranged.ts';

const END = 22;
const END_SIGNATURE = Buffer.from('PK\x05\x06', 'latin1');
/** The longest comment, its record, and the ZIP64 records in front of it. */
const TAIL = 0xffff + END + 76;

/** The last bytes of an archive, and where among them its end record begins. */
export interface Tail {
  /** Where in the archive these bytes begin. */
  readonly start: number;
  readonly buffer: Buffer;
  readonly end: number;
}

export async function readTail(bytes: Ranged, signal?: AbortSignal): Promise<Tail> {
  if (bytes.size === 0) throw notAZip('it is empty');
  const start = Math.max(bytes.size - TAIL, 0);
  const buffer = await take(bytes, start, bytes.size - start, signal);
  const ends = [...endsIn(buffer)];
  const exact = ends.filter((at) => trailing(buffer, at) === 0);
  if (exact.length === 1) return { start, buffer, end: exact[0]! };
  // Readers differ in which of them they believe, so one could be shown and another be meant.
  if (exact.length > 1) throw damaged('it has two ends, one in the comment of the other');
  throw await withoutEnd(bytes, start, buffer, ends[0] ?? null, signal);
}

/** From the last to the first. */
function* endsIn(buffer: Buffer): Generator<number> {
  let at = buffer.length - END;
  while (at >= 0) {
    at = buffer.lastIndexOf(END_SIGNATURE, at);
    if (at >= 0) yield at;
    at--;
  }
}

/** How many bytes follow the record and its comment; negative where the comment is not all there. */
function trailing(buffer: Buffer, at: number): number {
  return buffer.length - (at + END + buffer.readUInt16LE(at + 20));
}

async function withoutEnd(
  bytes: Ranged,
  start: number,
  buffer: Buffer,
  last: number | null,
  signal?: AbortSignal,
): Promise<Error> {
  if (last !== null && trailing(buffer, last) < 0) return truncated('its comment is not all there');
  // An archive that was cut within a member that is itself a zip has the end of that one.
  const isOwn =
    last !== null && buffer.readUInt32LE(last + 12) + buffer.readUInt32LE(last + 16) === start + last;
  if (isOwn) return damaged(`${trailing(buffer, last)} bytes follow its end`);
  if (last !== null || (await startsAsZip(bytes, signal))) return truncated('its directory is missing');
  return notAZip('there is no directory of members at its end');
}

export async function startsAsZip(bytes: Ranged, signal?: AbortSignal): Promise<boolean> {
  return bytes.size >= 4 && (await take(bytes, 0, 4, signal)).readUInt32LE(0) === LOCAL_SIGNATURE;
}

/** Bytes of the archive, from the tail where it has them. */
export async function pieceOf(
  bytes: Ranged,
  tail: Tail,
  at: number,
  length: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  if (at < tail.start) return await take(bytes, at, Math.min(length, bytes.size - at), signal);
  return tail.buffer.subarray(at - tail.start, at - tail.start + length);
}
