/**
 * An LRU cache of client files in memory, bounded in bytes and entries and fair among users. It checks no path and
 * asks no client: `requests/read.ts` does. It is empty after a restart.
 */
import type { Clock } from '../../../platform/clock.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import type { ClientEntry, ClientFile, ArrivalMethod } from '../client-file.ts';

/** A file as it came, and the encoding of its text, if known. */
export interface NewCacheEntry extends ClientFile {
  readonly encoding: string | null;
  /** Identifies the state of the file, if the server opened it itself. */
  readonly mark?: string | undefined;
  /** When it came, in milliseconds by the clock of the server; now where it is left out. */
  readonly receivedAt?: number | undefined;
}

export interface CacheEntry extends NewCacheEntry {
  readonly size: number;
  readonly receivedAt: number;
}

export interface WantedEntry {
  /** When the file changed last, if known. An older time is no matter. */
  readonly mtime?: number | null;
  /** Whether an entry will do for this call; others may take it. */
  readonly suits?: (entry: CacheEntry) => boolean;
}

/** What a listing tells of a file. */
export type CachedListing = Pick<ClientEntry, 'path' | 'size' | 'mtime'>;

export interface CacheStatistics {
  readonly hits: number;
  readonly misses: number;
  /** Files that had to go so that others had room. */
  readonly evictions: number;
  /** Files that had changed with the client meanwhile. */
  readonly invalidations: number;
  readonly entries: number;
  /** Of the files themselves; towards the limit counts what is kept along with each as well. */
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
 * longest. So nobody who holds less than an equal part loses anything to the flood of another, and what is more than an
 * equal part by itself is not kept.
 */
export interface ClientCache {
  /** Null where it is not here or will not do, or is older than `mtime`, or may be: then it is forgotten. */
  get(user: string, root: string | null, path: string, wanted?: WantedEntry): CacheEntry | null;
  /** The same without a trace: nothing is counted, and it is not the one used last. */
  peek(user: string, root: string | null, path: string): CacheEntry | null;
  /** Whether it is kept now: a file without room is not, and neither is what stood at its path. */
  put(user: string, root: string | null, file: NewCacheEntry): boolean;
  /** All of them or, where there is no room for them together, none: then nothing has changed. */
  putAll(user: string, root: string | null, files: readonly NewCacheEntry[]): boolean;
  /** Forgets those that changed since they came, as a listing shows them. */
  outdate(user: string, root: string | null, seen: readonly CachedListing[]): void;
  /** Whether it was there. */
  forgetPath(user: string, root: string | null, path: string): boolean;
  /** All of a user, the counts included. */
  forget(user: string): void;
  clear(): void;
  /** Of all users or of one. */
  statistics(user?: string): CacheStatistics;
}

export interface CacheLimits {
  readonly mostBytes: number;
  readonly mostEntries: number;
}

interface HeldEntry {
  readonly entry: CacheEntry;
  readonly weight: number;
  usedAt: number;
}

/** What one user has in the cache. */
interface UserCache {
  readonly files: BoundedMap<string, HeldEntry>;
  readonly counts: CacheCounts;
}

const createCounts = () => ({ hits: 0, misses: 0, evictions: 0, invalidations: 0 });
type CacheCounts = ReturnType<typeof createCounts>;

/** What is bounded: the weight of the files, and their number. */
type CacheLoad = Pick<UserCache['files'], 'weight' | 'size'>;
const loadMeasures = ['weight', 'size'] as const;

/** Users without files whose counts are remembered. */
const maxCacheUsers = 10_000;

const idleEntryMs = 3_600_000;

export function createCache(limits: CacheLimits & { readonly clock: Clock }): ClientCache {
  const { clock, mostBytes, mostEntries } = limits;
  const users = new Map<string, UserCache>();
  const allCounts = createCounts();

  function openUserCache(user: string): UserCache {
    const known = users.get(user);
    if (known !== undefined) return known;
    if (users.size >= maxCacheUsers) forgetUserWithoutFiles(users);
    const bounds = { mostWeight: mostBytes, mostEntries, weigh: ({ weight }: HeldEntry) => weight };
    const made: UserCache = { files: new BoundedMap(bounds), counts: createCounts() };
    users.set(user, made);
    return made;
  }

  function count({ counts }: UserCache, what: keyof CacheCounts): void {
    counts[what]++;
    allCounts[what]++;
  }

  function drop(holder: UserCache, key: string, why: 'evictions' | 'invalidations'): void {
    holder.files.delete(key);
    count(holder, why);
  }

  const makeRoom = createRoomMaker(users, { weight: mostBytes, size: mostEntries }, (holder, key) =>
    drop(holder, key, 'evictions'),
  );

  const putAll: ClientCache['putAll'] = (user, root, files) => {
    const now = clock();
    const incoming = new Map(files.map((file) => [toCacheKey(root, file.path), file]));
    const weights = new Map([...incoming].map(([key, file]) => [key, weighEntry(key, file)]));
    const own = openUserCache(user);
    if (!makeRoom(own, weights, now)) return false;
    for (const [key, file] of incoming)
      own.files.set(key, { entry: toCacheEntry(file, now), weight: weights.get(key)!, usedAt: now });
    return true;
  };

  return {
    get(user, root, path, { mtime = null, suits = () => true } = {}) {
      const holder = openUserCache(user);
      const key = toCacheKey(root, path);
      const held = holder.files.use(key);
      const entry = held?.entry ?? null;
      if (held !== undefined) held.usedAt = clock();
      const changed = entry !== null && isOlderEntry(entry, mtime);
      if (changed) drop(holder, key, 'invalidations');
      const hit = entry === null || changed || !suits(entry) ? null : entry;
      count(holder, hit === null ? 'misses' : 'hits');
      return hit;
    },
    peek: (user, root, path) => openUserCache(user).files.get(toCacheKey(root, path))?.entry ?? null,
    putAll,
    put(user, root, file) {
      if (putAll(user, root, [file])) return true;
      openUserCache(user).files.delete(toCacheKey(root, file.path));
      return false;
    },
    outdate(user, root, seen) {
      const holder = openUserCache(user);
      if (holder.files.size === 0) return;
      for (const each of seen) {
        const key = toCacheKey(root, each.path);
        const held = holder.files.get(key);
        if (held !== undefined && hasEntryChanged(held.entry, each)) drop(holder, key, 'invalidations');
      }
    },
    forgetPath: (user, root, path) => openUserCache(user).files.delete(toCacheKey(root, path)),
    forget: (user) => void users.delete(user),
    clear: () => users.clear(),
    statistics(user) {
      const holders = user === undefined ? [...users.values()] : [openUserCache(user)];
      const held = holders.flatMap(({ files }) => [...files.values()]);
      return {
        ...(user === undefined ? allCounts : holders[0]!.counts),
        entries: held.length,
        bytes: sumNumbers(held.map(({ entry }) => entry.size)),
        limit: mostBytes,
        entryLimit: mostEntries,
      };
    },
  };
}

/** Evicts what has to go for the files of a user. False where they get no room, and then nothing in use has gone. */
function createRoomMaker(
  users: ReadonlyMap<string, UserCache>,
  most: CacheLoad,
  evict: (holder: UserCache, key: string) => void,
) {
  /** What there would be too much of. */
  const findScarce = (incoming: CacheLoad) =>
    loadMeasures.find(
      (measure) =>
        sumNumbers(users.values().map(({ files }) => files[measure])) + incoming[measure] > most[measure],
    );

  function evictIdle(incoming: CacheLoad, now: number): void {
    for (const holder of users.values())
      for (const [key, { usedAt }] of holder.files) {
        if (now - usedAt < idleEntryMs || findScarce(incoming) === undefined) break;
        evict(holder, key);
      }
  }

  /** Whether so much has room once nobody else holds as much any more. */
  const hasEqualPart = (own: UserCache, incoming: CacheLoad): boolean =>
    loadMeasures.every((measure) => {
      let sum = incoming[measure];
      for (const { files } of users.values().filter((holder) => holder !== own)) {
        let left = files[measure];
        for (const { weight } of files.values()) {
          if (left < incoming[measure]) break;
          left -= measure === 'size' ? 1 : weight;
        }
        sum += left;
      }
      return sum <= most[measure];
    });

  /** What whoever holds the most has not used for longest goes; of several who hold as much, the oldest. */
  function evictFor(own: UserCache, incoming: CacheLoad): void {
    for (let scarce = findScarce(incoming); scarce !== undefined; scarce = findScarce(incoming)) {
      const measure = scarce;
      const givers = [...users.values()]
        .filter(({ files }) => files.size > 0)
        .map((holder) => ({
          holder,
          load: holder.files[measure] + (holder === own ? incoming[measure] : 0),
          usedAt: holder.files.values().next().value!.usedAt,
        }));
      const giver = givers.reduce((one, other) =>
        (other.load - one.load || one.usedAt - other.usedAt) > 0 ? other : one,
      );
      evict(giver.holder, giver.holder.files.keys().next().value!);
    }
  }

  return (own: UserCache, weights: ReadonlyMap<string, number>, now: number): boolean => {
    const incoming = { weight: sumNumbers(weights.values()), size: weights.size };
    if (loadMeasures.some((measure) => incoming[measure] > most[measure])) return false;
    evictIdle(incoming, now);
    if (findScarce(incoming) !== undefined && !hasEqualPart(own, incoming)) return false;
    // What they replace makes room for them.
    for (const key of weights.keys()) own.files.delete(key);
    evictFor(own, incoming);
    return true;
  };
}

function forgetUserWithoutFiles(users: Map<string, UserCache>): void {
  for (const [user, { files }] of users) if (files.size === 0) return void users.delete(user);
}

const sumNumbers = (numbers: Iterable<number>): number =>
  Iterator.from(numbers).reduce((all, one) => all + one, 0);

/** What an entry takes besides its bytes and its key: the objects around it, measured and rounded up. */
const entryOverheadBytes = 1024;

const weighEntry = (key: string, { bytes }: NewCacheEntry): number =>
  bytes.length + 2 * key.length + entryOverheadBytes;

const toCacheKey = (root: string | null, path: string): string => JSON.stringify([root, path]);

/** An entry of unknown age may be older, too: asking again is dearer than being right. */
const isOlderEntry = (entry: CacheEntry, mtime: number | null): boolean =>
  mtime !== null && (entry.mtime === null || entry.mtime < mtime);

/** By these a file comes byte for byte, so that another size is another file. */
const exactMethods: ReadonlySet<ArrivalMethod> = new Set(['direct', 'upload', 'url']);

/** If it is unknown when it changed last, it was before it came. */
function hasEntryChanged(entry: CacheEntry, { size, mtime }: CachedListing): boolean {
  if (size !== null && size !== entry.size && exactMethods.has(entry.rung)) return true;
  return mtime !== null && Math.trunc(mtime) > Math.trunc(entry.mtime ?? entry.receivedAt);
}

/** The bytes are copied: they may be a part of a buffer that is far larger, or is written to again. */
function toCacheEntry({ bytes, receivedAt, ...facts }: NewCacheEntry, now: number): CacheEntry {
  return { ...facts, bytes: new Uint8Array(bytes), size: bytes.length, receivedAt: receivedAt ?? now };
}
