import { WorkcrateError } from '../errors.ts';
import { damaged } from './failures.ts';
import { CENTRAL_HEADER } from './fields.ts';
import { findDirectory, type DirectoryPlace } from './place.ts';
import { fill, type Ranged } from './ranged.ts';
import { scan, type ZipDirectory } from './scan.ts';
import { bytesHeld } from './slim.ts';
import { readTail, type Tail } from './tail.ts';

export interface DirectoryOptions {
  readonly signal?: AbortSignal;
  /** More are `too_large`. */
  readonly mostMembers?: number;
  /** The directory is held in memory; a larger one is `too_large`. Below 4 GiB. */
  readonly mostDirectoryBytes?: number;
  /** Asked before a directory is read that will take so many bytes of memory. */
  readonly reserve?: (bytes: number) => Promise<void>;
}

const MOST_MEMBERS = 10_000_000;
/** A million members with plain names take some 90 MB. */
export const MOST_DIRECTORY_BYTES = 256 * 1024 * 1024;
/** What is asked for at once: the directory of some 200,000 members. */
const WINDOW = 16 * 1024 * 1024;

/** Reads the directory of an archive: its end, and then what the end points to. Nothing else of it is read. */
export async function readZipDirectory(bytes: Ranged, options: DirectoryOptions = {}): Promise<ZipDirectory> {
  const { signal } = options;
  const tail = await readTail(bytes, signal);
  const place = await findDirectory(bytes, tail, signal);
  checkSize(place, options);
  await options.reserve?.(bytesHeld(place.end - place.start, place.count));
  const buffer = await load(bytes, tail, place, signal);
  return await scan(buffer, place, signal);
}

function checkSize(place: DirectoryPlace, options: DirectoryOptions): void {
  const { mostMembers = MOST_MEMBERS, mostDirectoryBytes = MOST_DIRECTORY_BYTES } = options;
  const size = place.end - place.start;
  if (place.count * CENTRAL_HEADER > size) throw damaged('its directory is too small for its members');
  if (place.count > mostMembers)
    throw tooLarge(`The zip lists ${place.count} members, and ${mostMembers} are looked at at most.`);
  if (size > mostDirectoryBytes)
    throw tooLarge(`The zip has a directory of ${size} bytes, and ${mostDirectoryBytes} are read at most.`);
}

function tooLarge(what: string): WorkcrateError {
  return new WorkcrateError('too_large', `${what} Download the whole of it instead, or split it.`);
}

/** The directory as it stands in the archive; its last part has come with the tail. */
async function load(
  bytes: Ranged,
  tail: Tail,
  { start, end }: DirectoryPlace,
  signal?: AbortSignal,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(end - start);
  const known = Math.min(Math.max(tail.start, start), end);
  for (let at = start; at < known; at += WINDOW)
    await fill(bytes, at, buffer.subarray(at - start, Math.min(at + WINDOW, known) - start), signal);
  tail.buffer.copy(buffer, known - start, known - tail.start, end - tail.start);
  return buffer;
}
