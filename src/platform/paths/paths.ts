/**
 * The one way into folders that users can write to: every open, listing, rename and removal stays below one directory.
 * It checks no permission of a user and no quota; whoever calls it has done so.
 */
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  linkSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  type Stats,
} from 'node:fs';
import { copyFile, rmdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { getErrno, WorkcrateError } from '../errors.ts';
import { PathRefusal, toPathError } from './faults.ts';
import { listFileNames, type FileNamesEnd } from './file-names.ts';
import { rootPath, type Components } from './names.ts';
import { findPublicFolder } from './public-folder.ts';
import { removeBornBelow, type BornFiles, type RemovedFiles } from './remove-born.ts';
import { countSpaceBelow, type FolderSpace } from './space.ts';
import {
  readFolderListing,
  toFolderEntry,
  listTree,
  type FolderEntry,
  type FolderListing,
  type TreeEnd,
  type TreeEntry,
  type TreeOptions,
} from './tree.ts';
import {
  findBestWalkMethod,
  walkMethods,
  walkTo,
  walkCreatingFolders,
  walkToFolder,
  type WalkMethodName,
  type WalkContext,
} from './walk.ts';

export type { PathRefusalKind } from './faults.ts';
export { rootPath, joinComponents, parseName, parsePath, type Components } from './names.ts';
export { findPublicFolder } from './public-folder.ts';
export type { BornFiles, RemovedFiles } from './remove-born.ts';
export { removeTree } from './remove-tree.ts';
export { syncFileSystem, syncFolder } from './sync.ts';
export type { FolderSpace } from './space.ts';
export type { FolderEntry, FolderListing, TreeEnd, TreeEntry, TreeOptions } from './tree.ts';
export { findBestWalkMethod, type WalkMethodName } from './walk.ts';

export interface RootOptions {
  /** `within` follows relative links that stay below the root. */
  readonly links?: 'refuse' | 'within';
  /** `refuse` passes through no name that begins with a dot, not by a link either. */
  readonly hidden?: 'allow' | 'refuse';
  /** A folder of more entries is not listed: `too_large`. */
  readonly mostEntries?: number;
  readonly walkMethod?: WalkMethodName;
}

/**
 * Files and folders below one directory. No path, link or exchange of one for the other leads outside.
 * What does not exist is `path_not_found`; what is not allowed is `path_refused`, and `details.kind` says why.
 */
export interface FolderRoot {
  /** Opens a regular file for reading; anything else is refused untouched. */
  open(path: Components): OpenFile;
  /** Creates a regular file for writing; `already_exists` if the name is taken. */
  create(path: Components): OpenFile;
  /**
   * Creates a file that shares the blocks of an open one until either is written (a reflink). False where the file system
   * has no reflinks; `already_exists` if the name is taken.
   */
  clone(from: OpenFile, to: Components): Promise<boolean>;
  /** Describes what `open` or `listFolder` would find there. */
  stat(path: Components): FolderEntry;
  /** Where a link leads, as it is written; it is not followed. */
  readLink(path: Components): string;
  /** Lists a folder, links as links. */
  list(path?: Components): FolderListing;
  /** Yields the names of the regular files directly in a folder, unbounded, step by step; null for anything else. */
  fileNames(path: Components): Generator<string | null, FileNamesEnd>;
  /** Lists a folder and all folders below it, bounded, step by step. */
  tree(path: Components, options: TreeOptions): Generator<TreeEntry, TreeEnd>;
  /** Counts what all of it takes on disk, step by step, until it has seen `mostEntries`. */
  space(mostEntries: number): Generator<void, FolderSpace>;
  /** Removes the files that were made within a time, wherever they are below, step by step. */
  removeBorn(born: BornFiles): Generator<void, RemovedFiles>;
  /**
   * Makes a folder and those above it that are missing, and makes `owner`, a uid, their owner; with
   * null they stay the server's. One that belongs to somebody else already is left as it is.
   */
  makeFolder(path: Components, owner?: number | null): void;
  /** Moves a file, folder or link; replaces a file or an empty folder, as rename(2) does. */
  rename(from: Components, to: Components): void;
  /** Gives a regular file a second name; `already_exists` if that name is taken. Not every filesystem can. */
  link(from: Components, to: Components): void;
  /** Removes a file, a link (not its target) or an empty folder. */
  remove(path: Components): void;
  /** Removes an empty folder, and nothing else, while others are served: a disk may take its time over that. */
  removeFolder(path: Components): Promise<void>;
}

/** As `openBelow`, of a folder that all may read; what is no such folder is refused, and none is `path_not_found`. */
export function openPublicFolder(path: string | null, setting: string, mostEntries?: number): FolderRoot {
  const folder = findPublicFolder(path, setting);
  if (folder === null) throw new WorkcrateError('path_not_found', `There is no folder of ${setting}.`);
  return openBelow(folder, mostEntries === undefined ? {} : { mostEntries });
}

/**
 * The directory itself is trusted: whoever can replace it chooses what is below it. Each call looks it up again, so it
 * need not exist yet and may be replaced.
 */
export function openBelow(directory: string, options: RootOptions = {}): FolderRoot {
  const {
    links = 'refuse',
    hidden = 'allow',
    mostEntries = 100_000,
    walkMethod = findBestWalkMethod(),
  } = options;
  const context = { directory: resolve(directory), method: walkMethods[walkMethod], links, hidden };
  return {
    open: (path) => withPathErrors(path, () => openRegularFile(context, path)),
    create: (path) => withPathErrors(path, () => createFileBelow(context, path)),
    clone: (from, to) => cloneFile(context, from, to),
    stat: (path) => withPathErrors(path, () => statEntry(context, path)),
    readLink: (path) => withPathErrors(path, () => readLinkTarget(context, path)),
    list: (path = rootPath) => withPathErrors(path, () => listFolderBelow(context, path, mostEntries)),
    fileNames: (path) => eachWithPathErrors(path, listFileNames(context, path)),
    tree: (path, options) => eachWithPathErrors(path, listTree(context, path, options)),
    space: (mostEntries) => countSpaceBelow(context, mostEntries),
    removeBorn: (born) => removeBornBelow(context, born),
    makeFolder: (path, owner = null) => withPathErrors(path, () => createFolder(context, path, owner)),
    rename: (from, to) => withPathErrors(from, () => renameEntry(context, from, to)),
    link: (from, to) => withPathErrors(to, () => linkEntry(context, from, to)),
    remove: (path) => withPathErrors(path, () => removeEntry(context, path)),
    removeFolder: (path) => removeEmptyFolder(context, path),
  };
}

function withPathErrors<T>(path: Components, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw toPathError(error, path.join('/'));
  }
}

function* eachWithPathErrors<T, End>(path: Components, steps: Generator<T, End>): Generator<T, End> {
  try {
    return yield* steps;
  } catch (error) {
    throw toPathError(error, path.join('/'));
  }
}

/** An open regular file. Streams made from `fd` must leave closing to this: `autoClose: false`. */
export interface OpenFile extends Disposable {
  readonly fd: number;
  /** As checked before opening: type and inode cannot have changed since, the size can. */
  readonly stats: Stats;
}

function openRegularFile(context: WalkContext, path: Components): OpenFile {
  using trail = walkTo(context, path);
  const { end } = trail;
  if (!end.stats.isFile()) throw new PathRefusal('not_regular');
  return wrapDescriptor(end.open(), end.stats);
}

/** Reads all bytes of an open file, from its start. Whoever opened it closes it. */
export function readOpenFile({ fd }: OpenFile): AsyncIterable<Uint8Array> {
  return createReadStream('', { fd, autoClose: false, start: 0 }) as AsyncIterable<Uint8Array>;
}

function statEntry(context: WalkContext, path: Components): FolderEntry {
  using trail = walkTo(context, path);
  return toFolderEntry(path.at(-1) ?? '.', trail.end.stats);
}

function readLinkTarget(context: WalkContext, path: Components): string {
  using entry = walkToFolder(context, path);
  return readlinkSync(entry.folder.at(entry.name));
}

function listFolderBelow(context: WalkContext, path: Components, mostEntries: number): FolderListing {
  using trail = walkTo(context, path);
  return readFolderListing(trail.end, mostEntries);
}

export function wrapDescriptor(fd: number, stats: Stats): OpenFile {
  let isOpen = true;
  return {
    fd,
    stats,
    // Once only: by the second time the number may be somebody else's file.
    [Symbol.dispose]() {
      if (!isOpen) return;
      isOpen = false;
      closeSync(fd);
    },
  };
}

function createFileBelow(context: WalkContext, path: Components): OpenFile {
  using entry = walkToFolder(context, path);
  const fd = entry.folder.create(entry.name);
  try {
    return wrapDescriptor(fd, fstatSync(fd));
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** What file systems say that have no reflinks, or none between the two. */
const noReflinkErrnos = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY']);

/** Never a copy of the bytes: whoever changes the file meanwhile would decide how many those are. */
async function cloneFile(context: WalkContext, { fd }: OpenFile, to: Components): Promise<boolean> {
  if (context.method !== walkMethods.descriptors) return false;
  try {
    using target = walkToFolder(context, to);
    const flags = constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL;
    await copyFile(`/proc/self/fd/${fd}`, target.folder.at(target.name), flags);
    return true;
  } catch (error) {
    if (noReflinkErrnos.has(getErrno(error) ?? '')) return false;
    throw toPathError(error, to.join('/'));
  }
}

function createFolder(context: WalkContext, path: Components, owner: number | null): void {
  using trail = walkCreatingFolders(context, path, owner);
  if (!trail.end.stats.isDirectory()) throw new PathRefusal('not_folder');
}

function renameEntry(context: WalkContext, from: Components, to: Components): void {
  using source = walkToFolder(context, from);
  using target = walkToFolder(context, to);
  renameSync(source.folder.at(source.name), target.folder.at(target.name));
}

/** The source is checked first, since not every system refuses to follow a symbolic link here. */
function linkEntry(context: WalkContext, from: Components, to: Components): void {
  using source = walkToFolder(context, from);
  using entry = context.method.reach(source.folder, source.name);
  if (!entry.stats.isFile()) throw new PathRefusal('not_regular');
  using target = walkToFolder(context, to);
  linkSync(source.folder.at(source.name), target.folder.at(target.name));
}

/** The name may be replaced between the two calls: the second then fails, or removes the replacement. */
function removeEntry(context: WalkContext, path: Components): void {
  using place = walkToFolder(context, path);
  using entry = context.method.reach(place.folder, place.name);
  const remove = entry.stats.isDirectory() ? rmdirSync : unlinkSync;
  remove(place.folder.at(place.name));
}

/** A link is not followed: the kernel removes folders alone by this call. */
async function removeEmptyFolder(context: WalkContext, path: Components): Promise<void> {
  try {
    using place = walkToFolder(context, path);
    await rmdir(place.folder.at(place.name));
  } catch (error) {
    throw toPathError(error, path.join('/'));
  }
}
