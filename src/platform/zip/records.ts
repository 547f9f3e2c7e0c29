import type { ZipEntry } from './zip.ts';

/** From these values on a field is all ones, and the number is in a ZIP64 record. */
const maxUint32 = 0xffffffff;
const maxUint16 = 0xffff;

const utf8NameFlag = 0x0800;
const storedMethodField = 0;
const versionPlain = 20;
const versionZip64 = 45;
const madeByUnix = 3 << 8;
/** A regular file, rw-r--r--, in the half that Unix unpackers read. */
const fileMode = 0o100644 * 0x10000;

const localHeaderBytes = 30;
const centralHeaderBytes = 46;
const zipEndBytes = 22;
const zip64End = 56;
const zip64Locator = 20;

/** The numbers of an entry that do not fit their fields, in the order that ZIP64 prescribes. */
function listZip64Numbers(size: number, offset: number): number[] {
  return [...(size >= maxUint32 ? [size, size] : []), ...(offset >= maxUint32 ? [offset] : [])];
}

function countExtraBytes(values: readonly number[]): number {
  return values.length === 0 ? 0 : 4 + 8 * values.length;
}

export function countLocalHeaderBytes(entry: ZipEntry): number {
  return localHeaderBytes + Buffer.byteLength(entry.name) + countExtraBytes(listZip64Numbers(entry.size, 0));
}

export function countCentralHeaderBytes(entry: ZipEntry, offset: number): number {
  return (
    centralHeaderBytes + Buffer.byteLength(entry.name) + countExtraBytes(listZip64Numbers(entry.size, offset))
  );
}

export function buildLocalHeader(entry: ZipEntry): Buffer {
  const large = listZip64Numbers(entry.size, 0);
  const header = Buffer.alloc(countLocalHeaderBytes(entry));
  header.writeUInt32LE(0x04034b50, 0);
  writeSharedFields(header, 4, entry, large);
  writeNameAndExtra(header, localHeaderBytes, entry.name, large);
  return header;
}

export function buildCentralHeader(entry: ZipEntry, offset: number): Buffer {
  const large = listZip64Numbers(entry.size, offset);
  const header = Buffer.alloc(countCentralHeaderBytes(entry, offset));
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(madeByUnix | getNeededVersion(large), 4);
  writeSharedFields(header, 6, entry, large);
  header.writeUInt32LE(fileMode, 38);
  header.writeUInt32LE(Math.min(offset, maxUint32), 42);
  writeNameAndExtra(header, centralHeaderBytes, entry.name, large);
  return header;
}

/** The 26 bytes that both headers of an entry have in common. */
function writeSharedFields(header: Buffer, at: number, entry: ZipEntry, large: readonly number[]): void {
  header.writeUInt16LE(getNeededVersion(large), at);
  header.writeUInt16LE(utf8NameFlag, at + 2);
  header.writeUInt16LE(storedMethodField, at + 4);
  header.writeUInt32LE(toDosTime(entry.modified), at + 6);
  header.writeUInt32LE(entry.crc32, at + 10);
  header.writeUInt32LE(Math.min(entry.size, maxUint32), at + 14);
  header.writeUInt32LE(Math.min(entry.size, maxUint32), at + 18);
  header.writeUInt16LE(Buffer.byteLength(entry.name), at + 22);
  header.writeUInt16LE(countExtraBytes(large), at + 24);
}

function getNeededVersion(large: readonly number[]): number {
  return large.length === 0 ? versionPlain : versionZip64;
}

function writeNameAndExtra(header: Buffer, at: number, name: string, large: readonly number[]): void {
  const extra = at + header.write(name, at);
  if (large.length === 0) return;
  header.writeUInt16LE(0x0001, extra);
  header.writeUInt16LE(8 * large.length, extra + 2);
  large.forEach((value, index) => header.writeBigUInt64LE(BigInt(value), extra + 4 + 8 * index));
}

/** What follows the central directory, which runs from `start` to `end`. */
export function buildEndRecords(count: number, start: number, end: number): Buffer {
  const record = Buffer.alloc(zipEndBytes);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(Math.min(count, maxUint16), 8);
  record.writeUInt16LE(Math.min(count, maxUint16), 10);
  record.writeUInt32LE(Math.min(end - start, maxUint32), 12);
  record.writeUInt32LE(Math.min(start, maxUint32), 16);
  const fits = count < maxUint16 && end - start < maxUint32 && start < maxUint32;
  return fits ? record : Buffer.concat([buildZip64End(count, start, end), record]);
}

function buildZip64End(count: number, start: number, end: number): Buffer {
  const record = Buffer.alloc(zip64End + zip64Locator);
  record.writeUInt32LE(0x06064b50, 0);
  // By definition without the signature and this field itself.
  record.writeUInt32LE(zip64End - 12, 4);
  record.writeUInt16LE(madeByUnix | versionZip64, 12);
  record.writeUInt16LE(versionZip64, 14);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(end - start), 40);
  record.writeBigUInt64LE(BigInt(start), 48);
  record.writeUInt32LE(0x07064b50, zip64End);
  record.writeBigUInt64LE(BigInt(end), zip64End + 8);
  record.writeUInt32LE(1, zip64End + 16);
  return record;
}

const earliestTime = Date.UTC(1980, 0, 1);
const latestTime = Date.UTC(2107, 11, 31, 23, 59, 58);

/**
 * A moment as ZIP's date (high half) and time (low half), to two seconds.
 * The format names no time zone; UTC gives the same archive, byte for byte, on every server.
 */
export function toDosTime(milliseconds: number): number {
  const moment = new Date(Math.min(Math.max(milliseconds || 0, earliestTime), latestTime));
  const day =
    ((moment.getUTCFullYear() - 1980) << 9) | ((moment.getUTCMonth() + 1) << 5) | moment.getUTCDate();
  const time = (moment.getUTCHours() << 11) | (moment.getUTCMinutes() << 5) | (moment.getUTCSeconds() >> 1);
  // An unsigned product, since a shift by 16 turns dates from 2044 on negative.
  return day * 0x10000 + time;
}
