/** Those who watch jobs, such as a page with a list or a client that listens: told to look again, and asked for nothing. */

/** How often those who watch are told to look where other servers work too. */
const usualPollMs = 3000;

/** They watch a key: the id of a job, or whose jobs they are. */
export function createWatchers({ isShared }: { readonly isShared: boolean }, pollMs = usualPollMs) {
  const watchers = new Map<string, Set<() => void>>();
  return {
    tell: (key: string): void => watchers.get(key)?.forEach((tell) => tell()),

    /** Calls when something changes here, until it is disposed of; where other servers work too, also every so often. */
    watch(key: string, tell: () => void): Disposable {
      const own = watchers.getOrInsertComputed(key, () => new Set());
      own.add(tell);
      const poll = isShared ? setInterval(tell, pollMs).unref() : undefined;
      return {
        [Symbol.dispose]() {
          clearInterval(poll);
          own.delete(tell);
          if (own.size === 0 && watchers.get(key) === own) watchers.delete(key);
        },
      };
    },
  };
}
