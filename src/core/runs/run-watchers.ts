/** Those who watch the runs of a user, such as a page with a list: told when one begins or ends, and asked for nothing. */
import type { Caller } from '../identity.ts';

/** How often those who watch are told to look where other servers run code too. */
const pollMs = 3000;

export function createRunWatchers({ isShared }: { readonly isShared: boolean }) {
  const watchers = new Map<string, Set<() => void>>();
  return {
    tell: (user: string): void => watchers.get(user)?.forEach((tell) => tell()),

    /**
     * Calls when a run of the caller begins or ends here, until it is disposed of. Where other servers run code too, it
     * also calls every few seconds.
     */
    watch({ user }: Caller, tell: () => void): Disposable {
      const own = watchers.getOrInsertComputed(user, () => new Set());
      own.add(tell);
      const poll = isShared ? setInterval(tell, pollMs).unref() : undefined;
      return {
        [Symbol.dispose]() {
          clearInterval(poll);
          own.delete(tell);
          if (own.size === 0 && watchers.get(user) === own) watchers.delete(user);
        },
      };
    },
  };
}
