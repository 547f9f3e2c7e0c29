import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  statSync,
  type Stats,
} from 'node:fs';
import { getErrno, WorkcrateError } from '../errors.ts';
import { PathRefusal } from './faults.ts';
import { maxPathFolders, type Components } from './names.ts';

/** Where walks begin, and what they may do on the way. */
export interface WalkContext {
  readonly directory: string;
  readonly method: WalkMethod;
  readonly links: 'refuse' | 'within';
  readonly hidden: 'allow' | 'refuse';
}

/** A name in a folder with an open handle, whether or not the name exists. */
export interface EntryInFolder extends Disposable {
  readonly folder: PathHandle;
  readonly name: string;
}

const maxFollowedLinks = 40;

type ReachEntry = (folder: PathHandle, name: string) => PathHandle;

/** Walks from the root to what `path` names, component by component. The last one is followed too. */
export function walkTo(
  context: WalkContext,
  path: readonly string[],
  reach: ReachEntry = context.method.reach,
): WalkedPath {
  const trail = new WalkedPath(context.method.root(context.directory));
  try {
    walkComponents(context, trail, path.toReversed(), reach);
    return trail;
  } catch (error) {
    trail[Symbol.dispose]();
    throw error;
  }
}

/** Walks to the folder that contains what `path` names. The last name is not followed, whatever it is. */
export function walkToFolder(context: WalkContext, path: Components): EntryInFolder {
  const name = path.at(-1);
  if (name === undefined) throw new PathRefusal('empty');
  const trail = walkTo(context, path.slice(0, -1));
  return { folder: trail.end, name, [Symbol.dispose]: () => trail[Symbol.dispose]() };
}

/**
 * Walks to a folder, and makes each that is missing on the way. Every folder on the way that belongs to the server is
 * given to `owner`: below a user's folder, only this function can have made it.
 */
export function walkCreatingFolders(
  context: WalkContext,
  path: Components,
  owner: number | null,
): WalkedPath {
  return walkTo(context, path, (folder, name) => {
    const next = reachOrCreateFolder(context, folder, name);
    if (owner !== null) changeFolderOwner(next, owner);
    return next;
  });
}

/** It is looked for first: to fail costs as much as to make it. */
function reachOrCreateFolder(context: WalkContext, folder: PathHandle, name: string): PathHandle {
  const path = folder.at(name);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) createFolderUnlessThere(path);
  return context.method.reach(folder, name);
}

/** By a descriptor, since a path could lead to another folder by now. */
function changeFolderOwner(folder: PathHandle, owner: number): void {
  if (!folder.stats.isDirectory() || folder.stats.uid !== process.getuid?.()) return;
  try {
    const fd = folder.open();
    try {
      fchownSync(fd, owner, owner);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    folder[Symbol.dispose]();
    throw error;
  }
}

function createFolderUnlessThere(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (getErrno(error) !== 'EEXIST') throw error;
  }
}

function walkComponents(context: WalkContext, trail: WalkedPath, ahead: string[], reach: ReachEntry): void {
  let links = 0;
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    // Only the target of a link can contain this. We go back over our own steps: the kernel's `..` can be moved.
    if (name === '..') {
      trail.back();
      continue;
    }
    if (context.hidden === 'refuse' && name.startsWith('.')) throw new PathRefusal('hidden');
    const next = reach(trail.end, name);
    if (!next.stats.isSymbolicLink()) {
      trail.step(next);
      continue;
    }
    next[Symbol.dispose]();
    if (context.links === 'refuse') throw new PathRefusal('link');
    if (++links > maxFollowedLinks) throw new PathRefusal('link_loop');
    ahead.push(...readLinkTargetParts(trail.end, name).toReversed());
  }
}

function readLinkTargetParts(folder: PathHandle, name: string): string[] {
  const target = readLinkBytes(folder.at(name));
  const text = target.toString('utf8');
  if (!isUtf8(target) || text.startsWith('/')) throw new PathRefusal('link');
  return text.split('/').filter((part) => part !== '' && part !== '.');
}

function readLinkBytes(path: string): Buffer {
  try {
    return readlinkSync(path, { encoding: 'buffer' });
  } catch (error) {
    // It was a link a moment ago.
    if (getErrno(error) === 'EINVAL') throw new PathRefusal('changed');
    throw error;
  }
}

/** The handles of all folders that a walk has passed, from the root on. Closes them when it is disposed of. */
class WalkedPath implements Disposable {
  readonly #root: PathHandle;
  readonly #steps: PathHandle[] = [];

  constructor(root: PathHandle) {
    this.#root = root;
  }

  get end(): PathHandle {
    return this.#steps.at(-1) ?? this.#root;
  }

  step(next: PathHandle): void {
    this.#steps.push(next);
    if (this.#steps.length > maxPathFolders) throw new PathRefusal('too_deep');
  }

  /** One step back. There is none from the root, whatever is above it. */
  back(): void {
    const last = this.#steps.pop();
    if (last === undefined) throw new PathRefusal('link');
    last[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const held of this.#steps.splice(0)) held[Symbol.dispose]();
    this.#root[Symbol.dispose]();
  }
}

/** O_NONBLOCK: a FIFO without a writer, or a file with a lease on it, must not block the server. */
const readFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** O_EXCL also means that a symbolic link of that name is not followed. */
const createFlags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A handle on a file without opening it: it needs no permission to read, and has no effect on a device. */
const openPathFlag = 0o10000000;

/**
 * Walks by file descriptors. Whatever is renamed or linked meanwhile, `/proc/self/fd/N` is the file that was checked,
 * so replacing a folder by a link cannot lead outside.
 */
const descriptorMethod: WalkMethod = {
  root: (directory) => openHandle(directory, openPathFlag | constants.O_DIRECTORY),
  reach: (folder, name) =>
    openHandle(
      typeof name === 'string' ? folder.at(name) : folder.atBytes(name),
      openPathFlag | constants.O_NOFOLLOW,
    ),
};

function openHandle(path: string | Buffer, flags: number): PathHandle {
  const fd = openSync(path, flags);
  return {
    stats: readHandleStats(fd),
    at: (name) => `/proc/self/fd/${fd}/${name}`,
    atBytes: (name) => Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]),
    open: () => openSync(`/proc/self/fd/${fd}`, readFlags),
    create: (name) => openSync(`/proc/self/fd/${fd}/${name}`, createFlags),
    [Symbol.dispose]: () => closeSync(fd),
  };
}

function readHandleStats(fd: number): Stats {
  try {
    return fstatSync(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Walks by paths that are looked up again before and after each use, for systems where a descriptor has no path. This
 * narrows the race and cannot close it: a folder that is replaced by a link between two of our calls, and put back, is
 * not noticed. The race tests are therefore for `descriptors` only.
 */
const lookupMethod: WalkMethod = {
  root: (directory) => openByLookup(directory, statSync, () => {}),
  reach: (folder, name) => openByLookup(folder.at(name.toString()), lstatSync, () => folder.at('.')),
};

function openByLookup(path: string, look: (path: string) => Stats, confirmAbove: () => unknown): PathHandle {
  const stats = look(path);
  const confirm = () => {
    confirmAbove();
    if (!isSameInode(look(path), stats)) throw new PathRefusal('changed');
  };
  const at = (name: string) => {
    confirm();
    return `${path}/${name}`;
  };
  return {
    stats,
    at,
    // Systems without descriptor paths have names that are text.
    atBytes: (name) => at(name.toString()),
    open: () => openConfirmed(path, readFlags | constants.O_NOFOLLOW, confirm),
    create: (name) => openConfirmed(at(name), createFlags, confirm),
    [Symbol.dispose]: () => {},
  };
}

/** Returns the descriptor only if a fresh lookup arrives at the same file. */
function openConfirmed(path: string, flags: number, confirm: () => void): number {
  const fd = openSync(path, flags);
  try {
    confirm();
    if (!isSameInode(lstatSync(path), fstatSync(fd))) throw new PathRefusal('changed');
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function isSameInode(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev && (a.mode & constants.S_IFMT) === (b.mode & constants.S_IFMT);
}

/** A file or folder that a walk has reached and checked. Disposing of it closes the handle, and changes nothing. */
export interface PathHandle extends Disposable {
  readonly stats: Stats;
  /** The path by which `name` in this folder is reached now; `.` is the folder itself. */
  at(name: string): string;
  /** The same for a name that need not be text. */
  atBytes(name: Buffer): string | Buffer;
  /** Opens, for reading, the same file that was checked. Never waits for another process. */
  open(): number;
  /** Creates a regular file in this folder, for writing. Fails if the name is taken, even by a dead link. */
  create(name: string): number;
}

/** How a walk keeps hold of what it has checked. `reach` never follows a link: it returns the link itself. */
export interface WalkMethod {
  readonly root: (directory: string) => PathHandle;
  readonly reach: (folder: PathHandle, name: string | Buffer) => PathHandle;
}

export type WalkMethodName = 'descriptors' | 'lookups';

export const walkMethods: Readonly<Record<WalkMethodName, WalkMethod>> = {
  descriptors: descriptorMethod,
  lookups: lookupMethod,
};

let bestWalkMethod: WalkMethodName | undefined;

/** The safest method that this system has. Only `descriptors` withstands somebody who swaps links (TOCTOU). */
export function findBestWalkMethod(): WalkMethodName {
  // Windows has no O_NOFOLLOW, and Node would quietly open without it.
  if (constants.O_NOFOLLOW === undefined) {
    throw new WorkcrateError('unsupported', 'Workcrate opens files safely on Linux, macOS and BSD only.');
  }
  bestWalkMethod ??= hasDescriptorPaths() ? 'descriptors' : 'lookups';
  return bestWalkMethod;
}

/** Tried out: a container may be Linux and have no /proc, or that of other processes. */
function hasDescriptorPaths(): boolean {
  if (process.platform !== 'linux') return false;
  const fd = openSync('/', openPathFlag | constants.O_DIRECTORY);
  try {
    return statSync(`/proc/self/fd/${fd}/.`, { throwIfNoEntry: false })?.ino === statSync('/').ino;
  } finally {
    closeSync(fd);
  }
}
