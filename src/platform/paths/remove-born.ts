import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  type BigIntStats,
} from 'node:fs';
import { getErrno } from '../errors.ts';
import { PathRefusal } from './faults.ts';
import { readEntryNames } from './tree.ts';
import type { PathHandle, WalkContext } from './walk.ts';

/** Which files are removed: those that were made within a time, by the clock of the file system. */
export interface BornFiles {
  /** In nanoseconds since 1970. */
  readonly from: bigint;
  readonly to: bigint;
  /** So many of these stay that are small, the first that are found. */
  readonly keep: { readonly files: number; readonly bytes: number; readonly mostBytesEach: number };
}

export interface RemovedFiles {
  readonly files: number;
  /** What they took on disk. */
  readonly bytes: number;
  /** False where something could not be looked at or removed. */
  readonly isWhole: boolean;
}

/** Each level takes two descriptors. A folder that is deeper and was made within the time is moved up. */
const maxDepth = 256;
/** How often a folder is listed while entries vanish from it before they are looked at. */
const maxListingsOfRemoval = 4;
const entriesPerStep = 32;

interface BornRemoval {
  readonly context: WalkContext;
  readonly born: BornFiles;
  readonly root: PathHandle;
  readonly removed: { -readonly [Key in keyof RemovedFiles]: RemovedFiles[Key] };
  readonly kept: { files: number; bytes: number };
  /** Folders that were moved up. */
  readonly lifted: Buffer[];
  entries: number;
}

/**
 * Removes files that were made within a time. Whoever writes a file chooses its name, its size and the time of its last
 * change, and cannot choose the time of its birth. What was there before is left, however it was changed. Links are
 * not followed, and other file systems are left out. Each step is short.
 */
export function* removeBornBelow(context: WalkContext, born: BornFiles): Generator<void, RemovedFiles> {
  using root = context.method.root(context.directory);
  const removed = { files: 0, bytes: 0, isWhole: true };
  const kept = { files: 0, bytes: 0 };
  const removal: BornRemoval = { context, born, root, removed, kept, lifted: [], entries: 0 };
  yield* removeInFolder(removal, root, 0);
  for (let name = removal.lifted.pop(); name !== undefined; name = removal.lifted.pop())
    yield* enterFolderOfRemoval(removal, root, name, 0);
  return removed;
}

/** What the owner of the folder can cause: it must not end the walk. */
function isCausedByOwner(error: unknown): boolean {
  if (error instanceof PathRefusal) return true;
  const errno = getErrno(error);
  return errno !== null && !['EMFILE', 'ENFILE', 'ENOMEM', 'EROFS'].includes(errno);
}

function* removeInFolder(removal: BornRemoval, folder: PathHandle, depth: number): Generator<void, void> {
  const entered = new Set<string>();
  for (let listings = 1; listings <= maxListingsOfRemoval; listings++) {
    const { folders, isWhole } = yield* removeListed(removal, folder, depth);
    for (const name of folders.filter((one) => !entered.has(one.toString('latin1')))) {
      entered.add(name.toString('latin1'));
      yield* enterFolderOfRemoval(removal, folder, name, depth);
    }
    if (isWhole) return;
  }
  removal.removed.isWhole = false;
}

/** Removes what is in a folder, and gives the folders in it. Not whole if an entry was gone before it was looked at. */
function* removeListed(removal: BornRemoval, folder: PathHandle, depth: number) {
  const folders: Buffer[] = [];
  let isWhole = true;
  for (const name of listNamesToRemove(removal, folder)) {
    if (++removal.entries % entriesPerStep === 0) yield;
    const stats = lstatSync(folder.atBytes(name), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) isWhole = false;
    else if (stats.dev !== BigInt(removal.root.stats.dev)) continue;
    else if (stats.isDirectory()) {
      if (depth < maxDepth) folders.push(name);
      else liftFolder(removal, folder, name, stats);
    } else if (stats.isFile() && isBorn(removal, stats) && !isKeptByRemoval(removal, stats))
      removeFile(removal, folder, name, stats);
  }
  return { folders, isWhole };
}

/** A folder that its owner closed is opened for this: its files count as theirs, whoever may look. */
function listNamesToRemove({ removed }: BornRemoval, folder: PathHandle): Iterable<Buffer> {
  try {
    // The path needs no permission to search the folder itself.
    if ((folder.stats.mode & 0o700) !== 0o700) chmodSync(folder.at(''), 0o700);
    return [...readEntryNames(folder)];
  } catch (error) {
    if (!isCausedByOwner(error)) throw error;
    if (getErrno(error) !== 'ENOENT') removed.isWhole = false;
    return [];
  }
}

const isBorn = ({ born }: BornRemoval, { birthtimeNs }: BigIntStats): boolean =>
  birthtimeNs >= born.from && birthtimeNs <= born.to;

const getAllocatedBytes = ({ blocks }: BigIntStats): number => Number(blocks) * 512;

function isKeptByRemoval({ kept, born: { keep } }: BornRemoval, stats: BigIntStats): boolean {
  const bytes = Math.max(getAllocatedBytes(stats), Number(stats.size));
  if (bytes > keep.mostBytesEach || kept.files === keep.files || kept.bytes + bytes > keep.bytes)
    return false;
  kept.files++;
  kept.bytes += bytes;
  return true;
}

/**
 * Cuts it first, since it may have other names, and processes may have it open. Then the name goes: an empty file would
 * pass for a result.
 */
function removeFile(removal: BornRemoval, folder: PathHandle, name: Buffer, stats: BigIntStats): void {
  const { removed } = removal;
  try {
    const isCut = cutFile(folder, name, stats);
    unlinkSync(folder.atBytes(name));
    removed.files++;
    if (isCut || stats.nlink === 1n) removed.bytes += getAllocatedBytes(stats);
    else removed.isWhole = false;
  } catch (error) {
    if (!isCausedByOwner(error)) throw error;
    if (getErrno(error) !== 'ENOENT') removed.isWhole = false;
  }
}

const cutFlags = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** False where the server may not write it, or another file has its name by now. */
function cutFile(folder: PathHandle, name: Buffer, { ino, dev }: BigIntStats): boolean {
  let fd: number;
  try {
    fd = openSync(folder.atBytes(name), cutFlags);
  } catch (error) {
    if (isCausedByOwner(error)) return false;
    throw error;
  }
  try {
    const opened = fstatSync(fd, { bigint: true });
    if (opened.ino !== ino || opened.dev !== dev) return false;
    ftruncateSync(fd, 0);
    return true;
  } finally {
    closeSync(fd);
  }
}

/** It is looked at when all else is done. */
function liftFolder(removal: BornRemoval, folder: PathHandle, name: Buffer, stats: BigIntStats): void {
  const { root, removed, lifted } = removal;
  if (!isBorn(removal, stats)) {
    removed.isWhole = false;
    return;
  }
  const to = `.moved-up-${randomBytes(6).toString('hex')}`;
  try {
    renameSync(folder.atBytes(name), root.at(to));
    lifted.push(Buffer.from(to));
  } catch (error) {
    if (!isCausedByOwner(error)) throw error;
    removed.isWhole = false;
  }
}

function* enterFolderOfRemoval(
  removal: BornRemoval,
  folder: PathHandle,
  name: Buffer,
  depth: number,
): Generator<void, void> {
  let held: PathHandle;
  try {
    held = removal.context.method.reach(folder, name);
  } catch (error) {
    if (!isCausedByOwner(error)) throw error;
    if (getErrno(error) !== 'ENOENT') removal.removed.isWhole = false;
    return;
  }
  using entered = held;
  if (entered.stats.isDirectory()) yield* removeInFolder(removal, entered, depth + 1);
}
