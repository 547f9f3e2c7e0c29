/**
 * Reads single members of a ZIP archive by ranges, and checks their size and CRC. It writes nothing to disk and follows
 * no path of the archive; `directory.ts` reads the central directory.
 */
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import { WorkcrateError } from '../errors.ts';
import {
  zipDamagedError,
  zip64Mark16,
  zip64Mark32,
  localHeader,
  localSignature,
  readNumber64,
  quoteMemberName,
  storedCode,
  zipTruncatedError,
  toDataView,
  findZip64Numbers,
  type RangeReader,
} from './fields.ts';
import { isEncrypted, findObstacle, type ZipMember } from './member.ts';
import type { ZipDirectory } from './scan.ts';

export { maxZipDirectoryBytes, readZipDirectory, type ZipDirectoryOptions } from './directory.ts';
export type { RangeReader } from './fields.ts';
export { isShortPath, type ZipMember } from './member.ts';
export type { ZipDirectory } from './scan.ts';

/**
 * Where in the archive the bytes of a stored member are; null if they are compressed. Its local header has been
 * checked, its CRC has not: a caller that sends only a part of them cannot check it.
 */
export async function findStoredRange(
  bytes: RangeReader,
  directory: ZipDirectory,
  member: ZipMember,
  signal?: AbortSignal,
): Promise<{ readonly start: number; readonly end: number } | null> {
  if (member.method !== storedCode) return null;
  checkReadable(member);
  const start = await findBytesStart(bytes, directory, member, signal);
  return { start, end: start + member.size };
}

export interface ReadMemberOptions {
  /** A larger member is `too_large`. */
  readonly limit: number;
  readonly signal?: AbortSignal;
}

/**
 * The bytes of a member. Its last chunk comes only if the local header, the size and the CRC agree with the directory:
 * a caller that reads to the end has the right bytes or gets an error. A chunk is valid only until the next one is
 * asked for.
 */
export async function* readMember(
  bytes: RangeReader,
  directory: ZipDirectory,
  member: ZipMember,
  { limit, signal }: ReadMemberOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  checkReadable(member);
  if (member.size > limit)
    throw new WorkcrateError(
      'too_large',
      `${quoteMemberName(member.rawName)} has ${member.size} bytes; the limit is ${limit}. Ask for a link to it instead.`,
    );
  const packed = readPackedBytes(bytes, directory, member, signal);
  yield* verifyMember(member.method === storedCode ? packed : inflateMember(packed, member), member, signal);
}

function checkReadable(member: ZipMember): void {
  const found = findObstacle(member);
  if (found === null) return;
  const message = `${quoteMemberName(member.rawName)} cannot be read from the zip: ${found.reason}.`;
  throw new WorkcrateError(found.code, `${message} Download the whole archive, and unpack it yourself.`);
}

/** Passes on no more than the stated size, which is within the limit, whatever the bytes inflate to. */
async function* verifyMember(
  chunks: AsyncIterable<Uint8Array>,
  member: ZipMember,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let [size, crc] = [0, 0];
  let last: Buffer | null = null;
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    size += chunk.length;
    if (size > member.size) break;
    crc = crc32(chunk, crc);
    if (size < member.size) yield chunk;
    else last ??= Buffer.from(chunk);
  }
  if (size !== member.size)
    throw zipDamagedError(`${quoteMemberName(member.rawName)} does not have its stated size`);
  if (crc !== member.crc32) throw zipDamagedError(`the CRC of ${quoteMemberName(member.rawName)} is wrong`);
  if (last !== null && last.length > 0) yield last;
}

/** So few bytes are read to the end rather than broken off, which would cost the connection to a remote store. */
const minBytesWorthReading = 4096;
/** What a local header usually has after its name. */
const usualExtra = 256;

/** The packed bytes of a member, by one read, after its local header has been checked. */
async function* readPackedBytes(
  bytes: RangeReader,
  directory: ZipDirectory,
  member: ZipMember,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const end = Math.min(directory.roomOf(member), getLatestStart(directory, member) + member.compressedSize);
  let header: Buffer | null = Buffer.alloc(0);
  let [left, unread] = [member.compressedSize, end - member.offset];
  for await (const chunk of bytes.read(member.offset, end, signal)) {
    let part = chunk;
    unread -= chunk.length;
    if (header !== null) {
      header = Buffer.concat([header, chunk]);
      const size = checkHeader(header, directory, member);
      if (size === null) continue;
      part = header.subarray(size);
      header = null;
    }
    part = part.subarray(0, left);
    left -= part.length;
    if (part.length > 0) yield part;
    if (left === 0 && unread > minBytesWorthReading) break;
  }
  if (left > 0 || header !== null)
    throw zipTruncatedError(`the bytes of ${quoteMemberName(member.rawName)} end early`);
}

/** Where the bytes of a member begin at the latest: the length of what follows its name is not known yet. */
function getLatestStart(directory: ZipDirectory, member: ZipMember): number {
  return member.offset + localHeader + directory.nameBytes(member.index).length + zip64Mark16;
}

/** How long the local header is, once all of it is there and agrees; null before. */
function checkHeader(header: Buffer, directory: ZipDirectory, member: ZipMember): number | null {
  const size = readLocalHeaderSize(header);
  if (size === null) return null;
  if (member.offset + size + member.compressedSize > directory.roomOf(member))
    throw zipDamagedError(`${quoteMemberName(member.rawName)} overlaps what follows it`);
  if (header.length < size) return null;
  checkLocalHeader(header.subarray(0, size), directory.nameBytes(member.index), member);
  return size;
}

/** Where the bytes of a member begin, by one small read, or two where its header is unusually long. */
async function findBytesStart(
  bytes: RangeReader,
  directory: ZipDirectory,
  member: ZipMember,
  signal?: AbortSignal,
): Promise<number> {
  const [latest, room] = [getLatestStart(directory, member), directory.roomOf(member)];
  for (const end of [latest - zip64Mark16 + usualExtra, latest]) {
    let header = Buffer.alloc(0);
    for await (const chunk of bytes.read(member.offset, Math.min(end, room), signal))
      header = Buffer.concat([header, chunk]);
    const size = checkHeader(header, directory, member);
    if (size !== null) return member.offset + size;
  }
  throw zipTruncatedError(`the header of ${quoteMemberName(member.rawName)} is incomplete`);
}

/** Sizes and CRC follow the bytes, and are not in the header. */
const sizesFollowFlag = 8;

/** The length of the header that begins here; null while too little of it has been read. */
function readLocalHeaderSize(bytes: Buffer): number | null {
  if (bytes.length < localHeader) return null;
  if (bytes.readUInt32LE(0) !== localSignature)
    throw zipDamagedError('a member is not where its directory says');
  return localHeader + bytes.readUInt16LE(26) + bytes.readUInt16LE(28);
}

/** If the header of a member and the directory differ, other programs would read another member. */
function checkLocalHeader(header: Buffer, nameBytes: Uint8Array, member: ZipMember): void {
  const nameEnd = localHeader + header.readUInt16LE(26);
  const flags = header.readUInt16LE(6);
  const agrees =
    nameEnd - localHeader === nameBytes.length &&
    header.subarray(localHeader, nameEnd).equals(nameBytes) &&
    header.readUInt16LE(8) === member.method &&
    isEncrypted(flags) === member.isEncrypted &&
    ((flags & sizesFollowFlag) !== 0 || sizesAgree(header, nameEnd, member));
  if (!agrees)
    throw zipDamagedError(`its directory and the header of ${quoteMemberName(member.rawName)} disagree`);
}

function sizesAgree(header: Buffer, nameEnd: number, member: ZipMember): boolean {
  let [size, compressedSize] = [header.readUInt32LE(22), header.readUInt32LE(18)];
  const wide = Number(size === zip64Mark32) + Number(compressedSize === zip64Mark32);
  if (wide > 0) {
    const at = findZip64Numbers(toDataView(header), nameEnd, header.length, wide);
    if (compressedSize === zip64Mark32)
      compressedSize = readNumber64(toDataView(header), at + (wide - 1) * 8);
    if (size === zip64Mark32) size = readNumber64(toDataView(header), at);
  }
  return (
    header.readUInt32LE(14) === member.crc32 &&
    size === member.size &&
    compressedSize === member.compressedSize
  );
}

const inflateChunk = 32 * 1024;

/** Inflates as fast as it is read, and holds some chunks at most, whatever comes out. */
async function* inflateMember(
  packed: AsyncIterable<Uint8Array>,
  member: ZipMember,
): AsyncGenerator<Uint8Array, void, undefined> {
  const inflate = createInflateRaw({ chunkSize: inflateChunk });
  // Its failures come out of the loop below as well.
  const feeding = pipeline(copyChunks(packed), inflate).catch(() => {});
  try {
    for await (const chunk of inflate) yield chunk as Buffer;
  } catch (error) {
    throw isZlibError(error)
      ? zipDamagedError(`${quoteMemberName(member.rawName)} cannot be inflated`)
      : error;
  } finally {
    inflate.destroy();
    await feeding;
  }
  // Bytes behind the end of the compressed ones are passed over without a word.
  if (inflate.bytesWritten !== member.compressedSize)
    throw zipDamagedError(
      `${quoteMemberName(member.rawName)} has bytes after the end of its compressed data`,
    );
}

/** The stream asks for the next chunk before it is done with one. */
async function* copyChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) yield Buffer.from(chunk);
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}
