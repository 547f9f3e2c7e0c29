import { isUtf8 } from 'node:buffer';
import { lstatSync, opendirSync, readdirSync, type BigIntStats, type Dirent, type Stats } from 'node:fs';
import { getErrno, WorkcrateError } from '../errors.ts';
import { PathRefusal } from './faults.ts';
import type { Components } from './names.ts';
import { walkTo, type WalkContext, type PathHandle } from './walk.ts';

export interface TreeOptions {
  /** How many entries are read, of whatever kind, in all folders together. */
  readonly mostEntries: number;
  /** How many folders deep; 0 is the first folder alone. */
  readonly mostDepth: number;
  /** How many bytes the paths of all entries may take together. */
  readonly mostBytes?: number;
  /** Whether to go into a folder of that name. */
  readonly enters?: (name: string) => boolean;
}

export type TreeEntry = NamedEntry | SkippedEntry;

interface NamedEntry {
  /** Relative to the first folder, with "/" between. */
  readonly path: string;
  /** Of the entry itself: a link is a link. */
  readonly stats: BigIntStats;
}

/** A step without an entry: its name is not UTF-8, or it was gone. It took time all the same. */
interface SkippedEntry {
  readonly path: null;
  readonly stats: null;
}

const skippedEntry: SkippedEntry = { path: null, stats: null };

/** A folder whose own path takes more is not entered: in deep folders of long names a few files fill memory. */
const maxFolderPathBytes = 4096;

/** What was left out. */
export interface TreeEnd {
  /** There were more than `mostEntries`, or their paths took more than `mostBytes`. */
  readonly cut: boolean;
  /** Entries whose names are not UTF-8: no string can name them again. */
  readonly unreadable: number;
  /** Folders that lie too deep, have too long a path or cannot be read. */
  readonly unentered: number;
}

interface TreeSearch {
  readonly context: WalkContext;
  readonly options: TreeOptions;
  readonly end: { -readonly [Key in keyof TreeEnd]: TreeEnd[Key] };
  seen: number;
  bytes: number;
}

/**
 * Lists everything below a folder, in no order, and opens only folders. Each step is short, so that the caller can do
 * other things in between. What vanishes meanwhile is left out.
 */
export function* listTree(
  context: WalkContext,
  path: Components,
  options: TreeOptions,
): Generator<TreeEntry, TreeEnd> {
  const end = { cut: false, unreadable: 0, unentered: 0 };
  const search: TreeSearch = { context, options, end, seen: 0, bytes: 0 };
  using trail = walkTo(context, path);
  if (!trail.end.stats.isDirectory()) throw new PathRefusal('not_folder');
  yield* walkTreeBelow(search, trail.end, '', 0);
  return search.end;
}

/** Keeps one descriptor open for each level, so replacing a folder by a link leads nowhere else. */
function* walkTreeBelow(
  search: TreeSearch,
  folder: PathHandle,
  prefix: string,
  depth: number,
): Generator<TreeEntry, void> {
  const folders = yield* listTreeEntries(search, folder, prefix);
  const { end, options, context } = search;
  if (depth === options.mostDepth) {
    end.unentered += folders.length;
    return;
  }
  for (const name of folders) {
    if (end.cut) return;
    const path = `${prefix}${name}`;
    if (Buffer.byteLength(path) > maxFolderPathBytes) {
      end.unentered++;
      continue;
    }
    try {
      using next = context.method.reach(folder, name);
      if (next.stats.isDirectory()) yield* walkTreeBelow(search, next, `${path}/`, depth + 1);
    } catch (error) {
      if (!(error instanceof PathRefusal) && getErrno(error) === null) throw error;
      if (getErrno(error) !== 'ENOENT') end.unentered++;
    }
  }
}

/** Yields the entries of one folder, and returns the folders among them that are to be entered. */
function* listTreeEntries(
  search: TreeSearch,
  folder: PathHandle,
  prefix: string,
): Generator<TreeEntry, string[]> {
  const { end, options } = search;
  const folders: string[] = [];
  const prefixBytes = Buffer.byteLength(prefix);
  for (const bytes of readEntryNames(folder)) {
    search.bytes += prefixBytes + bytes.length;
    end.cut = search.seen++ === options.mostEntries || search.bytes > (options.mostBytes ?? Infinity);
    if (end.cut) break;
    const entry = readTreeEntry(search, folder, prefix, bytes);
    yield entry;
    const name = bytes.toString('utf8');
    if (entry.stats?.isDirectory() && mayEnter(search, name)) folders.push(name);
  }
  return folders;
}

function readTreeEntry({ end }: TreeSearch, folder: PathHandle, prefix: string, bytes: Buffer): TreeEntry {
  if (!isUtf8(bytes)) {
    end.unreadable++;
    return skippedEntry;
  }
  const name = bytes.toString('utf8');
  const stats = lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? skippedEntry : { path: prefix + name, stats };
}

function mayEnter({ context, options }: TreeSearch, name: string): boolean {
  if (context.hidden === 'refuse' && name.startsWith('.')) return false;
  return options.enters?.(name) ?? true;
}

export interface FolderEntry {
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modified: number;
}

export interface FolderListing {
  /** Sorted by the bytes of their names. */
  readonly entries: FolderEntry[];
  /** How many were left out because their names are not UTF-8: no string can name them again. */
  readonly unreadable: number;
}

export function toFolderEntry(name: string, stats: Stats): FolderEntry {
  return { name, type: getEntryType(stats), size: stats.size, modified: stats.mtimeMs };
}

export function readFolderListing(folder: PathHandle, mostEntries: number): FolderListing {
  if (!folder.stats.isDirectory()) throw new PathRefusal('not_folder');
  const names = readBoundedNames(folder, mostEntries);
  const readable = names.filter((name) => isUtf8(name)).sort((a, b) => a.compare(b));
  const entries = readable.flatMap((bytes) => {
    const name = bytes.toString('utf8');
    const stats = lstatSync(folder.at(name), { throwIfNoEntry: false });
    return stats === undefined ? [] : [toFolderEntry(name, stats)];
  });
  return { entries, unreadable: names.length - readable.length };
}

/** Gives up on a folder with too many names before they fill the memory. */
function readBoundedNames(folder: PathHandle, mostEntries: number): Buffer[] {
  const names: Buffer[] = [];
  for (const name of readEntryNames(folder)) {
    if (names.length === mostEntries) throw tooManyEntriesError(mostEntries);
    names.push(name);
  }
  return names;
}

/** The names in a folder as bytes, read piece by piece. */
export function* readEntryNames(folder: PathHandle): Generator<Buffer, void> {
  for (const { name } of readDirents(folder)) yield name;
}

/** A folder that says it is no larger holds some hundreds of names, and two thousand at most (btrfs). */
const smallFolderBytes = 4096;

/** The same, with the type that the folder has for each. A small one is read at once, which takes a third of the time. */
export function* readDirents(folder: PathHandle): Generator<Dirent<Buffer>, void> {
  if (folder.stats.size <= smallFolderBytes) {
    yield* readdirSync(folder.at('.'), { encoding: 'buffer', withFileTypes: true });
    return;
  }
  // Node's types know Buffer names of readdir only.
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: 1024 };
  using reader = opendirSync(folder.at('.'), options);
  for (let next = reader.readSync(); next !== null; next = reader.readSync())
    yield next as unknown as Dirent<Buffer>;
}

function tooManyEntriesError(mostEntries: number): WorkcrateError {
  return new WorkcrateError('too_large', `The folder holds more than ${mostEntries} entries.`, {
    details: { limit: mostEntries },
  });
}

function getEntryType(stats: Stats): FolderEntry['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
