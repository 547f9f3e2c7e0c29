import type { CacheEntry } from './cache.ts';

export interface Limits {
  readonly mostBytes: number;
  readonly mostEntries: number;
}

interface Counts {
  hits: number;
  misses: number;
  evictions: number;
  invalidations: number;
}

interface Held {
  readonly entry: CacheEntry;
  readonly weight: number;
  usedAt: number;
}

interface Sum {
  bytes: number;
  entries: number;
  readonly counts: Counts;
}

/** What one user has in the cache, what was used last at the end. */
export interface Holder extends Sum {
  readonly held: Map<string, Held>;
}

export type Holders = ReturnType<typeof createHolders>;

/** Users without files whose counts are remembered. */
const mostUsers = 10_000;

const nothing = (): Sum => ({
  bytes: 0,
  entries: 0,
  counts: { hits: 0, misses: 0, evictions: 0, invalidations: 0 },
});

/** Who holds what, and the sums of it. Decides nothing. No bounded map, since whose entry goes depends on its user. */
export function createHolders(limits: Limits) {
  const users = new Map<string, Holder>();
  const all = nothing();

  const add = (holder: Holder, weight: number, entries: 1 | -1): void => {
    for (const sum of [holder, all]) {
      sum.bytes += entries * weight;
      sum.entries += entries;
    }
  };

  const drop = (holder: Holder, key: string): boolean => {
    const held = holder.held.get(key);
    if (held === undefined) return false;
    holder.held.delete(key);
    add(holder, held.weight, -1);
    return true;
  };

  const remove = (user: string): void => {
    const holder = users.get(user);
    for (const key of holder?.held.keys() ?? []) drop(holder!, key);
    users.delete(user);
  };

  const forgetIdle = (): void => {
    if (users.size < mostUsers) return;
    for (const [user, { entries }] of users) if (entries === 0) return remove(user);
  };

  return {
    limits,
    all: all as Readonly<Sum>,
    users: users as ReadonlyMap<string, Holder>,
    of(user: string): Holder {
      const known = users.get(user);
      if (known !== undefined) return known;
      forgetIdle();
      const holder: Holder = { ...nothing(), held: new Map() };
      users.set(user, holder);
      return holder;
    },
    /** Makes it the one used last. */
    use(holder: Holder, key: string, now: number): CacheEntry | null {
      const held = holder.held.get(key);
      if (held === undefined) return null;
      holder.held.delete(key);
      holder.held.set(key, held);
      held.usedAt = now;
      return held.entry;
    },
    keep(holder: Holder, key: string, entry: CacheEntry, weight: number, now: number): void {
      drop(holder, key);
      holder.held.set(key, { entry, weight, usedAt: now });
      add(holder, weight, 1);
    },
    drop,
    count(holder: Holder, what: keyof Counts): void {
      holder.counts[what]++;
      all.counts[what]++;
    },
    remove,
    clear(): void {
      for (const user of users.keys()) remove(user);
    },
  };
}
