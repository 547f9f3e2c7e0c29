/**
 * An LRU cache of client files in memory, bounded in bytes and entries and fair among users. It checks no path and
 * asks no client: `requests/read.ts` does. It is empty after a restart.
 */
import type { Clock } from '../../../platform/clock.ts';
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
export type ListedFile = Pick<ClientEntry, 'path' | 'size' | 'mtime'>;

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
 * longest. So nobody who holds less than an equal part loses anything to the flood of another.
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
  outdate(user: string, root: string | null, seen: readonly ListedFile[]): void;
  /** Whether it was there. */
  forgetPath(user: string, root: string | null, path: string): boolean;
  /** All of a user, the counts included. */
  forget(user: string): void;
  clear(): void;
  /** Of all users or of one. */
  statistics(user?: string): CacheStatistics;
}

export function createCache(limits: CacheLimits & { readonly clock: Clock }): ClientCache {
  const { clock } = limits;
  const holders = createUserCaches(limits);

  const putAll: ClientCache['putAll'] = (user, root, files) => {
    const incoming = new Map(files.map((file) => [toCacheKey(root, file.path), file]));
    const sizes = new Map([...incoming].map(([key, file]) => [key, weighEntry(key, file)]));
    const victims = chooseVictims(holders, user, sizes, clock());
    if (victims === null) return false;
    for (const { holder, key } of victims) {
      holders.drop(holder, key);
      holders.count(holder, 'evictions');
    }
    const holder = holders.of(user);
    for (const [key, file] of incoming)
      holders.keep(holder, key, toCacheEntry(file, clock()), sizes.get(key)!, clock());
    return true;
  };

  const invalidate = (holder: UserCache, key: string): void => {
    holders.drop(holder, key);
    holders.count(holder, 'invalidations');
  };

  return {
    get(user, root, path, { mtime = null, suits = () => true } = {}) {
      const holder = holders.of(user);
      const key = toCacheKey(root, path);
      const entry = holders.use(holder, key, clock());
      const changed = entry !== null && isOlderEntry(entry, mtime);
      if (changed) invalidate(holder, key);
      const hit = entry === null || changed || !suits(entry) ? null : entry;
      holders.count(holder, hit === null ? 'misses' : 'hits');
      return hit;
    },
    peek: (user, root, path) => holders.of(user).held.get(toCacheKey(root, path))?.entry ?? null,
    putAll,
    put(user, root, file) {
      if (putAll(user, root, [file])) return true;
      holders.drop(holders.of(user), toCacheKey(root, file.path));
      return false;
    },
    outdate(user, root, seen) {
      const holder = holders.of(user);
      if (holder.entries === 0) return;
      for (const each of seen) {
        const key = toCacheKey(root, each.path);
        const held = holder.held.get(key);
        if (held !== undefined && hasEntryChanged(held.entry, each)) invalidate(holder, key);
      }
    },
    forgetPath: (user, root, path) => holders.drop(holders.of(user), toCacheKey(root, path)),
    forget: (user) => holders.remove(user),
    clear: () => holders.clear(),
    statistics: (user) => toStatistics(user === undefined ? holders.all : holders.of(user), limits),
  };
}

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
function hasEntryChanged(entry: CacheEntry, { size, mtime }: ListedFile): boolean {
  if (size !== null && size !== entry.size && exactMethods.has(entry.rung)) return true;
  return mtime !== null && Math.trunc(mtime) > Math.trunc(entry.mtime ?? entry.receivedAt);
}

/** The bytes are copied: they may be a part of a buffer that is far larger, or is written to again. */
function toCacheEntry({ bytes, receivedAt, ...facts }: NewCacheEntry, now: number): CacheEntry {
  return { ...facts, bytes: new Uint8Array(bytes), size: bytes.length, receivedAt: receivedAt ?? now };
}

function toStatistics(
  of: Pick<UserCache, 'counts' | 'fileBytes' | 'entries'>,
  limits: CacheLimits,
): CacheStatistics {
  const { mostBytes: limit, mostEntries: entryLimit } = limits;
  return { ...of.counts, entries: of.entries, bytes: of.fileBytes, limit, entryLimit };
}

export interface CacheLimits {
  readonly mostBytes: number;
  readonly mostEntries: number;
}

interface CacheCounts {
  hits: number;
  misses: number;
  evictions: number;
  invalidations: number;
}

interface HeldEntry {
  readonly entry: CacheEntry;
  readonly weight: number;
  usedAt: number;
}

interface CacheSum {
  /** What counts towards the limit. */
  bytes: number;
  fileBytes: number;
  entries: number;
  readonly counts: CacheCounts;
}

/** What one user has in the cache, what was used last at the end. */
export interface UserCache extends CacheSum {
  readonly held: Map<string, HeldEntry>;
}

export type UserCaches = ReturnType<typeof createUserCaches>;

/** Users without files whose counts are remembered. */
const maxCacheUsers = 10_000;

const createEmptySum = (): CacheSum => ({
  bytes: 0,
  fileBytes: 0,
  entries: 0,
  counts: { hits: 0, misses: 0, evictions: 0, invalidations: 0 },
});

/** Who holds what, and the sums of it. Decides nothing. No bounded map, since whose entry goes depends on its user. */
function createUserCaches(limits: CacheLimits) {
  const users = new Map<string, UserCache>();
  const all = createEmptySum();

  const add = (holder: UserCache, { entry, weight }: HeldEntry, entries: 1 | -1): void => {
    for (const sum of [holder, all]) {
      sum.bytes += entries * weight;
      sum.fileBytes += entries * entry.size;
      sum.entries += entries;
    }
  };

  const drop = (holder: UserCache, key: string): boolean => {
    const held = holder.held.get(key);
    if (held === undefined) return false;
    holder.held.delete(key);
    add(holder, held, -1);
    return true;
  };

  const remove = (user: string): void => {
    const holder = users.get(user);
    for (const key of holder?.held.keys() ?? []) drop(holder!, key);
    users.delete(user);
  };

  const forgetIdle = (): void => {
    if (users.size < maxCacheUsers) return;
    for (const [user, { entries }] of users) if (entries === 0) return remove(user);
  };

  return {
    limits,
    all: all as Readonly<CacheSum>,
    users: users as ReadonlyMap<string, UserCache>,
    of(user: string): UserCache {
      const known = users.get(user);
      if (known !== undefined) return known;
      forgetIdle();
      const holder: UserCache = { ...createEmptySum(), held: new Map() };
      users.set(user, holder);
      return holder;
    },
    /** Makes it the one used last. */
    use(holder: UserCache, key: string, now: number): CacheEntry | null {
      const held = holder.held.get(key);
      if (held === undefined) return null;
      holder.held.delete(key);
      holder.held.set(key, held);
      held.usedAt = now;
      return held.entry;
    },
    keep(holder: UserCache, key: string, entry: CacheEntry, weight: number, now: number): void {
      drop(holder, key);
      const held: HeldEntry = { entry, weight, usedAt: now };
      holder.held.set(key, held);
      add(holder, held, 1);
    },
    drop,
    count(holder: UserCache, what: keyof CacheCounts): void {
      holder.counts[what]++;
      all.counts[what]++;
    },
    remove,
    clear(): void {
      for (const user of users.keys()) remove(user);
    },
  };
}

export interface Victim {
  readonly holder: UserCache;
  readonly key: string;
}

interface LeavingEntry {
  readonly key: string;
  readonly weight: number;
  readonly usedAt: number;
}

/** A user's part while room is sought: what would be left of it, and what would leave next. */
interface CacheShare {
  readonly holder: UserCache;
  readonly leaving: Iterator<LeavingEntry, undefined>;
  next: LeavingEntry | undefined;
  bytes: number;
  entries: number;
}

type IncomingWeights = ReadonlyMap<string, number>;

const idleEntryMs = 3_600_000;

/**
 * What has to go so that a user's files, given by key and weight, have room. Changes nothing. Null where there is none
 * for them: they are larger than the cache, or would make their user hold more than anybody else, by themselves.
 */
function chooseVictims(
  holders: UserCaches,
  user: string,
  incoming: IncomingWeights,
  now: number,
): Victim[] | null {
  const { mostBytes, mostEntries } = holders.limits;
  const weight = sumNumbers(incoming.values());
  if (weight > mostBytes || incoming.size > mostEntries) return null;
  const own = toShareWithIncoming(holders.of(user), incoming, weight);
  let bytes = holders.all.bytes - own.holder.bytes + own.bytes;
  let entries = holders.all.entries - own.holder.entries + own.entries;
  const tooMuch = () => bytes > mostBytes || entries > mostEntries;
  if (!tooMuch()) return [];
  const victims: Victim[] = [];
  const take = (part: CacheShare): void => {
    const { key, weight } = part.next!;
    victims.push({ holder: part.holder, key });
    bytes -= weight;
    entries--;
    takeNext(part);
  };
  const parts = [own, ...listOtherShares(holders, own.holder)];
  for (const part of parts) while (tooMuch() && getAge(part, now) >= idleEntryMs) take(part);
  while (tooMuch()) {
    const giver = chooseGiver(parts, bytes > mostBytes ? 'bytes' : 'entries', now);
    if (giver.next === undefined) return null;
    take(giver);
  }
  return victims;
}

const sumNumbers = (numbers: Iterable<number>): number =>
  Iterator.from(numbers).reduce((all, one) => all + one, 0);

/** As if the files were here already, in the place of those that they replace. */
function toShareWithIncoming(holder: UserCache, incoming: IncomingWeights, weight: number): CacheShare {
  const replaced = [...incoming.keys()].flatMap((key) => holder.held.get(key)?.weight ?? []);
  return toCacheShare(holder, {
    bytes: holder.bytes - sumNumbers(replaced) + weight,
    entries: holder.entries - replaced.length + incoming.size,
    staying: incoming,
  });
}

function* listOtherShares(holders: UserCaches, own: UserCache): Iterable<CacheShare> {
  for (const holder of holders.users.values())
    if (holder !== own && holder.entries > 0) yield toCacheShare(holder, { ...holder, staying: new Map() });
}

function toCacheShare(
  holder: UserCache,
  of: { bytes: number; entries: number; staying: IncomingWeights },
): CacheShare {
  const leaving = holder.held
    .entries()
    .filter(([key]) => !of.staying.has(key))
    .map(([key, { weight, usedAt }]): LeavingEntry => ({ key, weight, usedAt }));
  return { holder, leaving, next: leaving.next().value, bytes: of.bytes, entries: of.entries };
}

function takeNext(part: CacheShare): void {
  part.bytes -= part.next!.weight;
  part.entries--;
  part.next = part.leaving.next().value;
}

/** Who holds the most of what is scarce; of several, who has not used the next to leave for longest. */
function chooseGiver(parts: readonly CacheShare[], scarce: 'bytes' | 'entries', now: number): CacheShare {
  return parts.reduce((one, other) => {
    const more = other[scarce] - one[scarce] || getAge(other, now) - getAge(one, now);
    return more > 0 ? other : one;
  });
}

/** Where nothing can leave but what is to come, that is the youngest there is. */
const getAge = ({ next }: CacheShare, now: number): number =>
  next === undefined ? -Infinity : now - next.usedAt;
