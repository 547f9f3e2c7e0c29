/**
 * A bounded map for each user, so that nobody's entries push out those of another. It forgets, and stores nothing that
 * has to last.
 */
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';

export interface ByUserLimits {
  /** Of one user: whoever has more loses the oldest of their own. */
  readonly each: number;
  readonly users: number;
}

export type ByUser<T> = ReturnType<typeof createByUser<T>>;

/** Things of users under their keys, so that nobody's take the room of another's. */
export function createByUser<T>(most: ByUserLimits) {
  const all = new BoundedMap<string, BoundedMap<string, T>>({ mostEntries: most.users });

  function remove(user: string, key: string): boolean {
    const own = all.get(user);
    if (!own?.delete(key)) return false;
    if (own.size === 0) all.delete(user);
    return true;
  }

  function ownOf(user: string): BoundedMap<string, T> {
    const own = all.get(user) ?? new BoundedMap<string, T>({ mostEntries: most.each });
    if (!all.has(user)) all.set(user, own);
    return own;
  }

  return {
    get: (user: string, key: string): T | undefined => all.get(user)?.get(key),

    /** It is the newest then, even if it was there before. */
    set(user: string, key: string, value: T): void {
      remove(user, key);
      ownOf(user).set(key, value);
    },

    /** Whether it was there. */
    remove,

    /** Removes of everybody's what is over. */
    removeWhere(isOver: (value: T) => boolean): void {
      for (const [user, own] of all) for (const [key, value] of own) if (isOver(value)) remove(user, key);
    },
  };
}
