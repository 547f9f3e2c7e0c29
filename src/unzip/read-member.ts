import { crc32 } from 'node:zlib';
import { WorkcrateError } from '../errors.ts';
import { damaged, quoted } from './failures.ts';
import { STORED } from './fields.ts';
import { inflated } from './inflated.ts';
import { memberBytes } from './member-bytes.ts';
import { obstacle, type ZipMember } from './member.ts';
import type { Ranged } from './ranged.ts';
import type { ZipDirectory } from './scan.ts';

export interface ReadMemberOptions {
  /** A larger member is `too_large`. */
  readonly limit: number;
  readonly signal?: AbortSignal;
}

/**
 * The bytes of a member. Its last chunk is given only when the local header, the size and the CRC agree with the
 * directory: whoever has got to the end has the right bytes, and whoever was sent wrong ones an error. A chunk is good
 * only until the next one is asked for.
 */
export async function* readMember(
  bytes: Ranged,
  directory: ZipDirectory,
  member: ZipMember,
  { limit, signal }: ReadMemberOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  checkReadable(member);
  if (member.size > limit)
    throw new WorkcrateError(
      'too_large',
      `${quoted(member.rawName)} has ${member.size} bytes, and the limit is ${limit}. Ask for a link to it instead.`,
    );
  const packed = memberBytes(bytes, directory, member, signal);
  yield* verified(member.method === STORED ? packed : inflated(packed, member), member, signal);
}

export function checkReadable(member: ZipMember): void {
  const found = obstacle(member);
  if (found === null) return;
  const message = `${quoted(member.rawName)} cannot be read from the zip: ${found.reason}.`;
  throw new WorkcrateError(found.code, `${message} Download the whole archive, and unpack it yourself.`);
}

/** No more than the stated size gets through, which is within the limit, whatever the bytes inflate to. */
async function* verified(
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
  if (size !== member.size) throw damaged(`${quoted(member.rawName)} does not have the size that is stated`);
  if (crc !== member.crc32) throw damaged(`the CRC of ${quoted(member.rawName)} is wrong`);
  if (last !== null && last.length > 0) yield last;
}
