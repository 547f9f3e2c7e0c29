/**
 * What a run changed in a folder: snapshots before and after it, and the difference. Bounded in entries, depth and
 * bytes. It reads no content and does not decide which folders are compared: `core/runs/difference.ts` does.
 */
import { runInSlices } from '../../platform/concurrency/yield.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import {
  openBelow,
  rootPath,
  type Components,
  type TreeEnd,
  type TreeEntry,
} from '../../platform/paths/paths.ts';

const isAscii = (text: string): boolean => !/[\x80-\uffff]/.test(text);

/**
 * A character for each byte of a name's UTF-8: JavaScript compares UTF-16, which is another order, and comparing such
 * strings is many times faster than calling back for each pair.
 */
export const toByteKey = (name: string): string =>
  isAscii(name) ? name : Buffer.from(name).toString('latin1');

/** The name of which that is the key. */
export const fromByteKey = (key: string): string =>
  isAscii(key) ? key : Buffer.from(key, 'latin1').toString('utf8');

/** Sorted by the bytes of their UTF-8, which is the order of code points. */
export function sortByBytes(names: readonly string[]): string[] {
  return names.map(toByteKey).sort().map(fromByteKey);
}

/** What tells one state of a file from another, in nanoseconds where it is a time. */
interface SeenFileState {
  readonly size: bigint;
  readonly modified: bigint;
  readonly inode: bigint;
  /** When anything of it was last changed. No program can set this. */
  readonly changed: bigint;
}

/** The regular files below a folder at one time. */
export interface Snapshot {
  readonly files: ReadonlyMap<string, SeenFileState>;
  /** False where a bound or a closed folder kept files out of sight. */
  readonly sawAll: boolean;
  /** Files and folders whose names are not UTF-8, and so cannot be shown. */
  readonly unreadable: number;
  /** In nanoseconds since 1970, and rather too early than too late. */
  readonly takenAt: bigint;
}

/** Paths from the folder on, parted by "/", in the order of their bytes. */
export interface FolderChanges {
  readonly created: string[];
  readonly modified: string[];
  readonly deleted: string[];
  /** How many of each are left out of the lists, which hold at most 10,000. */
  readonly omitted: { readonly created: number; readonly modified: number; readonly deleted: number };
  /** False where there may be changes that were not seen or cannot be named. */
  readonly complete: boolean;
}

export interface SnapshotBounds {
  readonly mostEntries?: number;
  readonly mostDepth?: number;
  /** Bytes of all paths together. */
  readonly mostBytes?: number;
}

/** Written by the interpreters, not by the code that they run. */
const interpreterFiles = new Set(['.node_repl_history', '.python_history', '.bash_history']);
const isInterpreterFolder = (name: string): boolean => name === '__pycache__';

function isInterpreterFile(path: string): boolean {
  return path.endsWith('.pyc') || interpreterFiles.has(path.slice(path.lastIndexOf('/') + 1));
}

/** The kernel stamps files by a clock that may be a tick behind. */
const artifactClockLagMs = 20;

/**
 * Records what is below a folder. `directory` is trusted; `below` is a way from there that a run may have
 * laid or swapped for links, and whatever is not a folder at its end holds nothing.
 */
export async function snapshot(
  directory: string,
  below: Components = rootPath,
  { mostEntries = 20_000, mostDepth = 64, mostBytes = 4 * 1024 ** 2 }: SnapshotBounds = {},
): Promise<Snapshot> {
  const takenAt = BigInt(Date.now() - artifactClockLagMs) * 1_000_000n;
  const files = new Map<string, SeenFileState>();
  const enters = (name: string): boolean => !isInterpreterFolder(name);
  const all = openBelow(directory).tree(below, { mostEntries, mostDepth, mostBytes, enters });
  const { cut, unentered, unreadable } = await recordTree(all, files);
  return { files, sawAll: !cut && unentered === 0, unreadable, takenAt };
}

async function recordTree(
  all: Generator<TreeEntry, TreeEnd>,
  files: Map<string, SeenFileState>,
): Promise<TreeEnd> {
  try {
    const take = ({ path, stats }: TreeEntry): void => {
      if (path === null || !stats.isFile() || isInterpreterFile(path)) return;
      const { size, mtimeNs: modified, ino: inode, ctimeNs: changed } = stats;
      files.set(path, { size, modified, inode, changed });
    };
    return await runInSlices(all, { take });
  } catch (error) {
    // Nothing there, or a link or file in its place: it holds no files. Otherwise they are out of sight.
    const isGone =
      isWorkcrateError(error, 'path_not_found') ||
      (isWorkcrateError(error, 'path_refused') &&
        ['link', 'not_folder'].includes(`${error.details['kind']}`));
    if (!isGone && !isWorkcrateError(error)) throw error;
    return { cut: false, unreadable: 0, unentered: isGone ? 0 : 1 };
  }
}

/** What a run did to the files of a folder, by the snapshots before and after it. */
export function difference(before: Snapshot, after: Snapshot): FolderChanges {
  const created = listCreated(before, after);
  const modified = listModified(before, after);
  const deleted = listDeleted(before, after);
  return {
    created: takeFirstNames(created),
    modified: takeFirstNames(modified),
    deleted: takeFirstNames(deleted),
    omitted: {
      created: countUnlisted(created),
      modified: countUnlisted(modified),
      deleted: countUnlisted(deleted),
    },
    complete: before.sawAll && after.sawAll && before.unreadable + after.unreadable === 0,
  };
}

/** A file that the first snapshot may have missed is new only if something was done to it since. */
function listCreated(before: Snapshot, after: Snapshot): string[] {
  const isNew = ([path, now]: [string, SeenFileState]): boolean =>
    !before.files.has(path) && (before.sawAll || now.changed >= before.takenAt);
  return [...after.files].filter(isNew).map(([path]) => path);
}

function listModified(before: Snapshot, after: Snapshot): string[] {
  const isChanged = ([path, now]: [string, SeenFileState]): boolean => {
    const then = before.files.get(path);
    return then !== undefined && !isSameState(then, now);
  };
  return [...after.files].filter(isChanged).map(([path]) => path);
}

/** What was not seen need not be gone. */
function listDeleted(before: Snapshot, after: Snapshot): string[] {
  return after.sawAll ? [...before.files.keys()].filter((path) => !after.files.has(path)) : [];
}

function isSameState(a: SeenFileState, b: SeenFileState): boolean {
  return a.size === b.size && a.modified === b.modified && a.inode === b.inode;
}

const maxListedChanges = 10_000;

const takeFirstNames = (names: string[]): string[] => sortByBytes(names).slice(0, maxListedChanges);
const countUnlisted = (names: string[]): number => Math.max(0, names.length - maxListedChanges);
