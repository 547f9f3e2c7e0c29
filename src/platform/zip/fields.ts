import { WorkcrateError } from '../errors.ts';
import { fillBuffer } from '../streams.ts';

export const centralSignature = 0x02014b50;
export const localSignature = 0x04034b50;
export const localHeader = 30;
export const centralHeader = 46;

export const storedCode = 0;
export const deflatedCode = 8;

/** A field of all ones says that the number stands in a ZIP64 record. */
export const zip64Mark32 = 0xffffffff;
export const zip64Mark16 = 0xffff;

const zip64Field = 0x0001;
const extendedTimestamp = 0x5455;
const unicodePath = 0x7075;

/** Numbers are had from views: in code that has run little yet, they are three times as fast as the methods of Buffer. */
export function toDataView(buffer: Buffer): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
}

/** An 8-byte number; beyond 2^53 no file has so many bytes. */
export function readNumber64(view: DataView, at: number): number {
  const number = view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  if (Number.isSafeInteger(number)) return number;
  throw zipDamagedError('it contains a number that is too large for a size');
}

/** Where the numbers begin that did not fit their fields, `count` of them. */
export function findZip64Numbers(view: DataView, start: number, end: number, count: number): number {
  const at = findExtraField(view, start, end, zip64Field);
  if (at !== null && view.getUint16(at - 2, true) >= count * 8) return at;
  throw zipDamagedError('a ZIP64 field is missing or too short');
}

/** When the member was changed, in milliseconds, as Info-ZIP and most others on Unix say it. */
export function readExtendedTime(view: DataView, start: number, end: number): number | null {
  const at = findExtraField(view, start, end, extendedTimestamp);
  if (at === null || view.getUint16(at - 2, true) < 5 || (view.getUint8(at) & 1) === 0) return null;
  return view.getInt32(at + 1, true) * 1000;
}

/** A second name in UTF-8, with the CRC-32 of the one that it was made for. */
export function readUnicodePath(
  view: DataView,
  start: number,
  end: number,
): { crc32: number; name: Buffer } | null {
  const at = findExtraField(view, start, end, unicodePath);
  if (at === null) return null;
  const length = view.getUint16(at - 2, true);
  if (length < 6 || view.getUint8(at) !== 1) return null;
  return {
    crc32: view.getUint32(at + 1, true),
    name: Buffer.from(view.buffer, view.byteOffset + at + 5, length - 5),
  };
}

/**
 * Where the content of an extra field begins; its length is in the two bytes before. Tools pad this area with bytes
 * that are no field, so the first invalid length ends it.
 */
function findExtraField(view: DataView, start: number, end: number, id: number): number | null {
  for (let at = start; at + 4 <= end;) {
    const next = at + 4 + view.getUint16(at + 2, true);
    if (next > end) return null;
    if (view.getUint16(at, true) === id) return at + 4;
    at = next;
  }
  return null;
}

const neededFields = [zip64Field, extendedTimestamp, unicodePath];

/** Copies the fields that are understood, the first of each, to `to`, which is not behind them; gives where they end. */
export function packNeededFields(buffer: Buffer, area: { start: number; end: number }, to: number): number {
  const view = toDataView(buffer);
  const found = neededFields
    .map((id) => findExtraField(view, area.start, area.end, id))
    .filter((at) => at !== null);
  // In their order, so that none is overwritten before it is copied.
  for (const at of found.sort((a, b) => a - b)) {
    const length = 4 + view.getUint16(at - 2, true);
    buffer.copyWithin(to, at - 4, at - 4 + length);
    to += length;
  }
  return to;
}

/** ZIP's date (high half) and time (low half) names no zone: it is read as UTC. Null where there is no such moment. */
export function fromDosTime(dos: number): number | null {
  const year = (dos >>> 25) + 1980;
  const month = (dos >>> 21) & 15;
  const day = (dos >>> 16) & 31;
  const hour = (dos >>> 11) & 31;
  const minute = (dos >>> 5) & 63;
  const second = (dos & 31) * 2;
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return null;
  // The day 0 of the next month is the last of this one.
  if (day > 28 && day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return null;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

export function zipDamagedError(what: string): WorkcrateError {
  return new WorkcrateError('zip_damaged', `The zip is damaged: ${what}. Replace it with an undamaged copy.`);
}

export function zipTruncatedError(what: string): WorkcrateError {
  return new WorkcrateError('zip_truncated', `The zip is cut off: ${what}. Copy it again.`);
}

export function notAZipError(what: string): WorkcrateError {
  return new WorkcrateError('not_a_zip', `This is not a zip: ${what}. Check the file.`);
}

export function splitArchiveError(): WorkcrateError {
  return new WorkcrateError(
    'unsupported',
    'The zip is one part of several. Join them first: zip -s 0 LAST_PART --out WHOLE.',
  );
}

/** A name from an archive for a message: on one line, and short. */
export function quoteMemberName(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}

/** Bytes that are read by ranges: an open object of a source. */
export interface RangeReader {
  readonly size: number;
  /** From `start` to before `end`. A chunk is valid only until the next one is asked for. */
  read(start: number, end: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Fills all of `target` with the bytes from `start` on, by one read. */
export async function fillRange(
  bytes: RangeReader,
  start: number,
  target: Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  const filled = await fillBuffer(target, bytes.read(start, start + target.length, signal));
  if (filled < target.length) throw zipTruncatedError(`its bytes end at ${start + filled} of ${bytes.size}`);
}

export async function readZipRange(
  bytes: RangeReader,
  start: number,
  length: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  const target = Buffer.allocUnsafeSlow(length);
  if (length > 0) await fillRange(bytes, start, target, signal);
  return target;
}
