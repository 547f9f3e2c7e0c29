export interface Most {
  /** Of one user: whoever has more loses the oldest of their own. */
  readonly each: number;
  readonly users: number;
}

export type ByUser<T> = ReturnType<typeof createByUser<T>>;

/** Things of users under their keys, so that nobody's take the room of another's. */
export function createByUser<T>(most: Most) {
  const all = new Map<string, Map<string, T>>();

  function remove(user: string, key: string): boolean {
    const own = all.get(user);
    if (!own?.delete(key)) return false;
    if (own.size === 0) all.delete(user);
    return true;
  }

  const oldest = (map: ReadonlyMap<string, unknown>): string => map.keys().next().value!;

  return {
    get: (user: string, key: string): T | undefined => all.get(user)?.get(key),

    /** It is the newest then, even if it was there before. */
    set(user: string, key: string, value: T): void {
      remove(user, key);
      if (!all.has(user) && all.size >= most.users) all.delete(oldest(all));
      const own = all.get(user) ?? new Map<string, T>();
      if (own.size >= most.each) remove(user, oldest(own));
      all.set(user, own.set(key, value));
    },

    /** Whether it was there. */
    remove,

    /** Removes of everybody's what is over. */
    removeWhere(isOver: (value: T) => boolean): void {
      for (const [user, own] of all) for (const [key, value] of own) if (isOver(value)) remove(user, key);
    },
  };
}
