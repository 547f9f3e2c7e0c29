import { damaged, quoted, truncated } from './failures.ts';
import { FULL_16, LOCAL_HEADER } from './fields.ts';
import { checkLocalHeader, localHeaderSize } from './local-header.ts';
import type { ZipMember } from './member.ts';
import type { Ranged } from './ranged.ts';
import type { ZipDirectory } from './scan.ts';

/** So little is read to its end rather than broken off, which would cost a remote store its connection. */
const WORTH_READING = 4096;
/** What a local header has behind its name, as a rule. */
const USUAL_EXTRA = 256;

/** What stands in the archive for a member, by one read, once its local header has been found to agree. */
export async function* memberBytes(
  bytes: Ranged,
  directory: ZipDirectory,
  member: ZipMember,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const end = Math.min(directory.roomOf(member), latestStart(directory, member) + member.compressedSize);
  let header: Buffer | null = Buffer.alloc(0);
  let [left, unread] = [member.compressedSize, end - member.offset];
  for await (const chunk of bytes.read(member.offset, end, signal)) {
    let part = chunk;
    unread -= chunk.length;
    if (header !== null) {
      header = Buffer.concat([header, chunk]);
      const size = checkedSize(header, directory, member);
      if (size === null) continue;
      part = header.subarray(size);
      header = null;
    }
    part = part.subarray(0, left);
    left -= part.length;
    if (part.length > 0) yield part;
    if (left === 0 && unread > WORTH_READING) break;
  }
  if (left > 0 || header !== null) throw truncated(`the bytes of ${quoted(member.rawName)} end early`);
}

/** Where the bytes of a member begin at the latest: the length of what is behind its name is not known yet. */
function latestStart(directory: ZipDirectory, member: ZipMember): number {
  return member.offset + LOCAL_HEADER + directory.nameBytes(member.index).length + FULL_16;
}

/** How long the local header is, once all of it is there and agrees; null before. */
function checkedSize(header: Buffer, directory: ZipDirectory, member: ZipMember): number | null {
  const size = localHeaderSize(header);
  if (size === null) return null;
  if (member.offset + size + member.compressedSize > directory.roomOf(member))
    throw damaged(`${quoted(member.rawName)} reaches into what follows it`);
  if (header.length < size) return null;
  checkLocalHeader(header.subarray(0, size), directory.nameBytes(member.index), member);
  return size;
}

/** Where the bytes of a member begin, by one small read, or two where its header is unusually long. */
export async function bytesStart(
  bytes: Ranged,
  directory: ZipDirectory,
  member: ZipMember,
  signal?: AbortSignal,
): Promise<number> {
  const [latest, room] = [latestStart(directory, member), directory.roomOf(member)];
  for (const end of [latest - FULL_16 + USUAL_EXTRA, latest]) {
    let header = Buffer.alloc(0);
    for await (const chunk of bytes.read(member.offset, Math.min(end, room), signal))
      header = Buffer.concat([header, chunk]);
    const size = checkedSize(header, directory, member);
    if (size !== null) return member.offset + size;
  }
  throw truncated(`the header of ${quoted(member.rawName)} is not all there`);
}
