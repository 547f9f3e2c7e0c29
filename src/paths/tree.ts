import { isUtf8 } from 'node:buffer';
import { lstatSync, type BigIntStats } from 'node:fs';
import { errnoOf } from '../errors.ts';
import { namesIn } from './entries.ts';
import { Fault } from './faults.ts';
import type { Held } from './footing.ts';
import type { Components } from './names.ts';
import { walk, type Ground } from './walk.ts';

export interface TreeOptions {
  /** How many entries are looked at, of whatever kind, in all folders together. */
  readonly mostEntries: number;
  /** How many folders deep; 0 is the first folder alone. */
  readonly mostDepth: number;
  /** Whether to go into a folder of that name. */
  readonly enters?: (name: string) => boolean;
}

export interface TreeEntry {
  /** From the first folder on, parted by "/". */
  readonly path: string;
  /** Of the entry itself: a link is a link. */
  readonly stats: BigIntStats;
}

/** What was left out. */
export interface TreeEnd {
  /** There were more than `mostEntries`. */
  readonly cut: boolean;
  /** Entries whose names are not UTF-8: no string can name them again. */
  readonly unreadable: number;
  /** Folders that lie too deep or cannot be read. */
  readonly unentered: number;
}

interface Search {
  readonly ground: Ground;
  readonly options: TreeOptions;
  readonly end: { -readonly [Key in keyof TreeEnd]: TreeEnd[Key] };
  seen: number;
}

/**
 * Gives everything below a folder, in no order, and opens none of it but folders. Each step is short, so that
 * the caller can do other things in between. What vanishes meanwhile is left out.
 */
export function* tree(ground: Ground, path: Components, options: TreeOptions): Generator<TreeEntry, TreeEnd> {
  const search: Search = { ground, options, end: { cut: false, unreadable: 0, unentered: 0 }, seen: 0 };
  using trail = walk(ground, path);
  if (!trail.end.stats.isDirectory()) throw new Fault('not_folder');
  yield* below(search, trail.end, '', 0);
  return search.end;
}

/** Holds one descriptor for each level, so no exchange of a folder for a link leads elsewhere. */
function* below(search: Search, folder: Held, prefix: string, depth: number): Generator<TreeEntry, void> {
  const folders = yield* entriesIn(search, folder, prefix);
  const { end, options, ground } = search;
  if (depth === options.mostDepth) {
    end.unentered += folders.length;
    return;
  }
  for (const name of folders) {
    if (end.cut) return;
    try {
      using next = ground.footing.reach(folder, name);
      if (next.stats.isDirectory()) yield* below(search, next, `${prefix}${name}/`, depth + 1);
    } catch (error) {
      if (!(error instanceof Fault) && errnoOf(error) === null) throw error;
      if (errnoOf(error) !== 'ENOENT') end.unentered++;
    }
  }
}

/** Gives what stands in one folder, and returns the folders among it that are to be entered. */
function* entriesIn(search: Search, folder: Held, prefix: string): Generator<TreeEntry, string[]> {
  const { end, options } = search;
  const folders: string[] = [];
  for (const bytes of namesIn(folder)) {
    end.cut = search.seen++ === options.mostEntries;
    if (end.cut) break;
    const name = bytes.toString('utf8');
    const isNamed = isUtf8(bytes);
    if (!isNamed) end.unreadable++;
    const stats = isNamed ? statsAt(folder, name) : undefined;
    if (stats === undefined) continue;
    yield { path: prefix + name, stats };
    if (stats.isDirectory() && mayEnter(search, name)) folders.push(name);
  }
  return folders;
}

function statsAt(folder: Held, name: string): BigIntStats | undefined {
  return lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false });
}

function mayEnter({ ground, options }: Search, name: string): boolean {
  if (ground.hidden === 'refuse' && name.startsWith('.')) return false;
  return options.enters?.(name) ?? true;
}
