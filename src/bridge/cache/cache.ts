import type { Clock } from '../../clock.ts';
import type { ClientEntry, ClientFile, Way } from '../client-file.ts';
import { createHolders, type Holder, type Limits } from './holders.ts';
import { makeRoom } from './room.ts';

/** A file as it came, and in which encoding its text is, where somebody told. */
export interface NewEntry extends ClientFile {
  readonly encoding: string | null;
  /** What tells its state from any other, where the file itself was seen. */
  readonly mark?: string | undefined;
}

export interface CacheEntry extends NewEntry {
  readonly size: number;
  /** Milliseconds since 1970, by the clock of the server. */
  readonly storedAt: number;
}

/** What a listing tells of a file. */
export type Seen = Pick<ClientEntry, 'path' | 'size' | 'mtime'>;

export interface CacheStatistics {
  readonly hits: number;
  readonly misses: number;
  /** Files that had to go so that others had room. */
  readonly evictions: number;
  /** Files that had changed with the client meanwhile. */
  readonly invalidations: number;
  readonly entries: number;
  /** What they take, with what is kept along with each. */
  readonly bytes: number;
  /** Most bytes, of all users together. */
  readonly limit: number;
  /** Most files, of all users together. */
  readonly entryLimit: number;
}

/**
 * Files of clients that were read lately, in memory, by user, by the client's root (null where nobody knows it) and by
 * path from there. The bytes that it gives are its own: nobody writes to them. Only what was read whole is given to it.
 *
 * Where room is needed, what nobody used for an hour goes first, then what the user who holds the most has not used for
 * longest. So nobody who holds less than an equal part loses anything to the flood of another.
 */
export interface ClientCache {
  /** Null where it is not here, or is older than `mtime`, or may be: then it is forgotten. An older `mtime` is no matter. */
  get(user: string, root: string | null, path: string, known?: { mtime?: number | null }): CacheEntry | null;
  /** The same without a trace: nothing is counted, and it is not the one used last. */
  peek(user: string, root: string | null, path: string): CacheEntry | null;
  /** Whether it is kept now: a file without room is not, and neither is what stood at its path. */
  put(user: string, root: string | null, file: NewEntry): boolean;
  /** All of them or, where there is no room for them together, none: then nothing has changed. */
  putAll(user: string, root: string | null, files: readonly NewEntry[]): boolean;
  /** Forgets those that changed since they came, as a listing shows them. */
  outdate(user: string, root: string | null, seen: readonly Seen[]): void;
  /** Whether it was there. */
  forgetPath(user: string, root: string | null, path: string): boolean;
  /** All of a user, the counts included. */
  forget(user: string): void;
  clear(): void;
  /** Of all users or of one. */
  statistics(user?: string): CacheStatistics;
}

export function createCache(limits: Limits & { readonly clock: Clock }): ClientCache {
  const { clock } = limits;
  const holders = createHolders(limits);

  const putAll: ClientCache['putAll'] = (user, root, files) => {
    const incoming = new Map(files.map((file) => [keyOf(root, file.path), file]));
    const sizes = new Map([...incoming].map(([key, file]) => [key, weigh(key, file)]));
    const victims = makeRoom(holders, user, sizes, clock());
    if (victims === null) return false;
    for (const { holder, key } of victims) {
      holders.drop(holder, key);
      holders.count(holder, 'evictions');
    }
    const holder = holders.of(user);
    for (const [key, file] of incoming)
      holders.keep(holder, key, asEntry(file, clock()), sizes.get(key)!, clock());
    return true;
  };

  const invalidate = (holder: Holder, key: string): void => {
    holders.drop(holder, key);
    holders.count(holder, 'invalidations');
  };

  return {
    get(user, root, path, { mtime = null } = {}) {
      const holder = holders.of(user);
      const key = keyOf(root, path);
      const entry = holders.use(holder, key, clock());
      const changed = entry !== null && isOlder(entry, mtime);
      if (changed) invalidate(holder, key);
      const hit = changed ? null : entry;
      holders.count(holder, hit === null ? 'misses' : 'hits');
      return hit;
    },
    peek: (user, root, path) => holders.of(user).held.get(keyOf(root, path))?.entry ?? null,
    putAll,
    put(user, root, file) {
      if (putAll(user, root, [file])) return true;
      holders.drop(holders.of(user), keyOf(root, file.path));
      return false;
    },
    outdate(user, root, seen) {
      const holder = holders.of(user);
      if (holder.entries === 0) return;
      for (const each of seen) {
        const key = keyOf(root, each.path);
        const held = holder.held.get(key);
        if (held !== undefined && hasChanged(held.entry, each)) invalidate(holder, key);
      }
    },
    forgetPath: (user, root, path) => holders.drop(holders.of(user), keyOf(root, path)),
    forget: (user) => holders.remove(user),
    clear: () => holders.clear(),
    statistics: (user) => statisticsOf(user === undefined ? holders.all : holders.of(user), limits),
  };
}

/** What an entry takes besides its bytes and its key: the objects around it, measured and rounded up. */
const overhead = 1024;

const weigh = (key: string, { bytes }: NewEntry): number => bytes.length + 2 * key.length + overhead;

const keyOf = (root: string | null, path: string): string => JSON.stringify([root, path]);

/** An entry of unknown age may be older, too: asking again is dearer than being right. */
const isOlder = (entry: CacheEntry, mtime: number | null): boolean =>
  mtime !== null && (entry.mtime === null || entry.mtime < mtime);

/** By these a file comes byte for byte, so that another size is another file. */
const exactly: ReadonlySet<Way> = new Set(['direct', 'upload', 'url']);

/** Where nobody told when it changed last, it did so before it came. */
function hasChanged(entry: CacheEntry, { size, mtime }: Seen): boolean {
  if (size !== null && size !== entry.size && exactly.has(entry.rung)) return true;
  return mtime !== null && Math.trunc(mtime) > Math.trunc(entry.mtime ?? entry.storedAt);
}

/** The bytes are copied: they may be a part of a buffer that is far larger, or is written to again. */
function asEntry({ bytes, ...told }: NewEntry, storedAt: number): CacheEntry {
  return { ...told, bytes: new Uint8Array(bytes), size: bytes.length, storedAt };
}

function statisticsOf(of: Pick<Holder, 'counts' | 'bytes' | 'entries'>, limits: Limits): CacheStatistics {
  const { mostBytes: limit, mostEntries: entryLimit } = limits;
  return { ...of.counts, entries: of.entries, bytes: of.bytes, limit, entryLimit };
}
