import { STORED } from './fields.ts';
import { bytesStart } from './member-bytes.ts';
import type { ZipMember } from './member.ts';
import type { Ranged } from './ranged.ts';
import { checkReadable } from './read-member.ts';
import type { ZipDirectory } from './scan.ts';

export type { Ranged } from './ranged.ts';
export type { ZipMember } from './member.ts';
export type { ZipDirectory } from './scan.ts';
export { MOST_DIRECTORY_BYTES, readZipDirectory, type DirectoryOptions } from './directory.ts';
export { isShortPath } from './names.ts';
export { readMember, type ReadMemberOptions } from './read-member.ts';

/**
 * Where in the archive the bytes of a member stand as they are; null where they are compressed. Its local header has
 * been checked, its CRC has not: whoever gives away a part of them cannot know it.
 */
export async function storedRange(
  bytes: Ranged,
  directory: ZipDirectory,
  member: ZipMember,
  signal?: AbortSignal,
): Promise<{ readonly start: number; readonly end: number } | null> {
  if (member.method !== STORED) return null;
  checkReadable(member);
  const start = await bytesStart(bytes, directory, member, signal);
  return { start, end: start + member.size };
}
