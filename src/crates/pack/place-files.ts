import { fstatSync, read, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError } from '../../errors.ts';
import { digestOf, type Digest } from '../../files/files.ts';
import { belowRoot, here, joined, parseName, type Components } from '../../paths/paths.ts';
import { canRunsRead } from '../../places/places.ts';
import type { Place } from '../../sandbox/sandbox.ts';
import { changed } from './archive.ts';

const readAt = promisify(read);
const pieceBytes = 256 * 1024;

/** A file of a user's place by the name that a run has for it. */
export interface PlaceFile {
  readonly place: Place;
  readonly folder: string;
  readonly path: Components;
  readonly name: string;
}

/** Null where the name says a place that is gone with its run. */
export function placeFile(place: Place, workingDir: string, name: string): PlaceFile | null {
  const isAbsolute = name.startsWith('/');
  const [root, ...below] = componentsOf(isAbsolute ? name : `${workingDir}/${name}`);
  if (root !== 'workspace' && root !== 'artifacts') return null;
  return { place, folder: place[root], path: joined(here, ...below.map(parseName)), name };
}

/** Names as they stand on the disk, each taken literally: no part of them is decoded. */
function componentsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

export interface Measured extends Digest {
  readonly modified: number;
}

/** Reads a file once and says what it is, or why it cannot be had. */
export async function measure(file: PlaceFile, signal: AbortSignal): Promise<Measured | string> {
  try {
    using opened = open(file);
    const stats = fstatSync(opened.fd, { bigint: true });
    if (!canRunsRead(file.place, stats)) return 'is not a file of this user';
    const digest = await digestOf(piecesOf(file, opened.fd, stats, signal));
    return { ...digest, modified: Number(stats.mtimeMs) };
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return 'is gone';
    if (isWorkcrateError(error, 'path_refused')) return 'is a link, hidden or no file';
    throw error;
  }
}

/** The bytes of a file that was measured before; `crate_changed` where it is another by now. */
export async function* readAgain(file: PlaceFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  using opened = openAgain(file);
  const stats = fstatSync(opened.fd, { bigint: true });
  if (!canRunsRead(file.place, stats)) throw changed(file.name);
  yield* piecesOf(file, opened.fd, stats, signal);
}

function open({ folder, path }: PlaceFile) {
  return belowRoot(folder, { links: 'refuse', hidden: 'refuse' }).open(path);
}

function openAgain(file: PlaceFile) {
  try {
    return open(file);
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused'))
      throw changed(file.name);
    throw error;
  }
}

async function* piecesOf(
  { name }: PlaceFile,
  fd: number,
  stats: BigIntStats,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const size = Number(stats.size);
  for (let done = 0; done < size;) {
    signal.throwIfAborted();
    // A new one each time: whoever takes it may gather several.
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, size - done));
    const { bytesRead } = await readAt(fd, piece, 0, piece.length, done);
    if (bytesRead === 0) throw changed(name);
    done += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
  const now = fstatSync(fd, { bigint: true });
  if (now.size !== stats.size || now.mtimeNs !== stats.mtimeNs) throw changed(name);
}
