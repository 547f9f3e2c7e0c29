/**
 * Who wants to know when servers behind the gateway offer something else.
 */
import type { ChangedList, Upstream } from '../../core/offer/upstream.ts';

export interface ServerChanges extends Pick<Upstream, 'onChange'> {
  /** Tells those who listen for this user; for null, all of them. */
  tell(kind: ChangedList, user: string | null): void;
}

export function createChanges(): ServerChanges {
  const listeners = new Set<{ readonly user: string | null; readonly hear: (kind: ChangedList) => void }>();
  return {
    tell(kind, user) {
      for (const { user: whose, hear } of listeners)
        if (user === null || whose === null || whose === user) hear(kind);
    },
    onChange(user, hear) {
      const listener = { user, hear };
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
