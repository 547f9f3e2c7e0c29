import { randomInt } from 'node:crypto';
import { lstatSync, type Stats } from 'node:fs';
import { getErrno } from '../errors.ts';
import { PathRefusal } from './faults.ts';
import { readEntryNames } from './tree.ts';
import type { WalkContext, PathHandle } from './walk.ts';

/** What a folder and everything below it takes on disk. */
export interface FolderSpace {
  /** Infinity if something cannot be counted: it could be of any size. */
  readonly bytes: number;
  /** What of it was counted even so. Infinity for what is too deep, which nobody counts whole later either. */
  readonly leastBytes: number;
  /** There were more than `mostEntries`, and `bytes` is what was counted until then. */
  readonly isCut: boolean;
}

/** Each level takes two descriptors. No path that is given by name may be deeper either (names.ts). */
const maxDepth = 256;
/**
 * How often a folder is listed again because an entry was gone before it was read. Each time only new names are read,
 * which takes microseconds. Programs that rename and delete a lot hardly ever need so many; somebody who hides files
 * this way does.
 */
const maxListingsOfSpace = 8;
/** Entries between two steps. */
const entriesPerStep = 32;

interface SpaceCount {
  readonly context: WalkContext;
  readonly mostEntries: number;
  readonly dev: number;
  bytes: number;
  entries: number;
  /** Files with several names count once. */
  readonly linked: Set<number>;
}

class TooManyEntries extends Error {}
class Uncountable extends Error {}
class TooDeep extends Uncountable {}

/**
 * Counts by descriptors and with names as bytes, so that nothing is hidden by names that are not text, by paths that are
 * too long, or by folders that are renamed meanwhile. Links are not followed, and other file systems are left out.
 * Throws only where the server has no descriptors or no memory left. Each step is short.
 */
export function* countSpaceBelow(context: WalkContext, mostEntries: number): Generator<void, FolderSpace> {
  let count: SpaceCount | null = null;
  try {
    using root = context.method.root(context.directory);
    const { dev } = root.stats;
    count = {
      context,
      mostEntries,
      dev,
      bytes: getAllocatedBytes(root.stats),
      entries: 0,
      linked: new Set(),
    };
    yield* countFolder(count, root, 0);
    return { bytes: count.bytes, leastBytes: count.bytes, isCut: false };
  } catch (error) {
    if (count === null && getErrno(error) === 'ENOENT') return { bytes: 0, leastBytes: 0, isCut: false };
    if (error instanceof TooManyEntries)
      return { bytes: count!.bytes, leastBytes: count!.bytes, isCut: true };
    if (error instanceof Uncountable || isCausedByOwner(error))
      return {
        bytes: Infinity,
        leastBytes: error instanceof TooDeep ? Infinity : (count?.bytes ?? 0),
        isCut: false,
      };
    throw error;
  }
}

const getAllocatedBytes = ({ blocks }: Stats): number => blocks * 512;

/** NFS says ESTALE. */
const isVanishedError = (error: unknown): boolean => ['ENOENT', 'ESTALE'].includes(getErrno(error) ?? '');

/** Whether the owner of the folder can have caused it. */
function isCausedByOwner(error: unknown): boolean {
  if (error instanceof PathRefusal) return true;
  const errno = getErrno(error);
  return errno !== null && !['EMFILE', 'ENFILE', 'ENOMEM'].includes(errno);
}

function* countFolder(count: SpaceCount, folder: PathHandle, depth: number): Generator<void, void> {
  if (depth > maxDepth) throw new TooDeep();
  const counted: CountedEntries = { names: new Set(), inodes: new Set() };
  for (let listings = 1; ; listings++) {
    try {
      if (yield* countListing(count, folder, depth, counted)) return;
    } catch (error) {
      // We have a handle on it, so this means that it has been deleted, and is empty.
      if (isVanishedError(error)) return;
      // Without descriptors, that it has been renamed.
      if (!(error instanceof PathRefusal)) throw error;
    }
    if (listings === maxListingsOfSpace) throw new Uncountable();
  }
}

/** What was counted of a folder, so that it is not counted again when the folder is listed again. */
interface CountedEntries {
  /** As numbers, since a folder may have millions of names. */
  readonly names: Set<number>;
  readonly inodes: Set<number>;
}

/** Lists a folder, and counts what has not been counted yet. False if an entry was gone before it was read. */
function* countListing(
  count: SpaceCount,
  folder: PathHandle,
  depth: number,
  counted: CountedEntries,
): Generator<void, boolean> {
  const folders: Buffer[] = [];
  let isWhole = true;
  for (const name of readEntryNames(folder)) {
    if (counted.names.has(hashName(name))) continue;
    if (count.entries++ === count.mostEntries) throw new TooManyEntries();
    if (count.entries % entriesPerStep === 0) yield;
    const stats = lstatSync(folder.atBytes(name), { throwIfNoEntry: false });
    if (stats === undefined) isWhole = false;
    else if (stats.isDirectory()) folders.push(name);
    else addFile(count, counted, name, stats);
  }
  for (const name of folders) {
    const hasEntered = yield* enterCountedFolder(count, folder, name, depth, counted);
    isWhole &&= hasEntered;
  }
  return isWhole;
}

function addFile(count: SpaceCount, counted: CountedEntries, name: Buffer, stats: Stats): void {
  counted.names.add(hashName(name));
  if (stats.dev !== count.dev || counted.inodes.has(stats.ino) || count.linked.has(stats.ino)) return;
  (stats.nlink > 1 ? count.linked : counted.inodes).add(stats.ino);
  count.bytes += getAllocatedBytes(stats);
}

/** False if it is gone. Once there is a handle on it, it may be renamed. */
function* enterCountedFolder(
  count: SpaceCount,
  folder: PathHandle,
  name: Buffer,
  depth: number,
  counted: CountedEntries,
): Generator<void, boolean> {
  using held = reachFolder(count, folder, name);
  if (held === null) return false;
  const { stats } = held;
  counted.names.add(hashName(name));
  if (stats.dev !== count.dev || counted.inodes.has(stats.ino)) return true;
  counted.inodes.add(stats.ino);
  count.bytes += getAllocatedBytes(stats);
  yield* countFolder(count, held, depth + 1);
  return true;
}

function reachFolder({ context }: SpaceCount, folder: PathHandle, name: Buffer): PathHandle | null {
  try {
    const held = context.method.reach(folder, name);
    if (held.stats.isDirectory()) return held;
    held[Symbol.dispose]();
  } catch (error) {
    if (!isVanishedError(error)) throw error;
  }
  return null;
}

/** Secret, so that nobody can choose names with the same hash. */
const hashSeed = randomInt(2 ** 30);

function hashName(name: Buffer): number {
  let hash = hashSeed;
  for (const byte of name) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash ^ (hash >>> 15)) & 0x3fffffff;
}
