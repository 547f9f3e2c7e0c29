/**
 * Mutual exclusion within this process: one piece of work at a time, in the order of asking, for all or for each key.
 * It knows nothing of other processes (a lease does), is not reentrant, and does not take turns between users (a fair
 * queue does).
 */

export interface MutexLimit {
  readonly mostWaiting: number;
  /** What is thrown where so many wait already. */
  refuse(): Error;
}

export interface Mutex {
  /** Whether nobody holds it and nobody waits for it. */
  isFree(): boolean;
  /** Runs `work` alone, after all who asked before; at once where nobody did. */
  run<T>(work: () => T | Promise<T>): Promise<T>;
}

/** Without a limit only where the callers are limited already. */
export function createMutex(limit?: MutexLimit): Mutex {
  const waiting: (() => void)[] = [];
  let isHeld = false;

  // The holder passes it on without freeing it, so that nobody slips in between.
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) isHeld = false;
    else next();
  };

  return {
    isFree: () => !isHeld,
    async run(work) {
      if (limit !== undefined && waiting.length >= limit.mostWaiting) throw limit.refuse();
      if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
      isHeld = true;
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

/** Runs work of the same key one piece after the other. A key that nobody uses takes no memory. */
export type KeyedMutex = <T>(key: string, work: () => T | Promise<T>) => Promise<T>;

export function createKeyedMutex(): KeyedMutex {
  const mutexes = new Map<string, Mutex>();
  return async (key, work) => {
    const mutex = mutexes.get(key) ?? createMutex();
    mutexes.set(key, mutex);
    try {
      return await mutex.run(work);
    } finally {
      // Another may be in use for this key by now, if this one was free for a moment.
      if (mutex.isFree() && mutexes.get(key) === mutex) mutexes.delete(key);
    }
  };
}
