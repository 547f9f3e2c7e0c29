import { setImmediate } from 'node:timers/promises';

const TURN_MS = 10;

/** Long work in pieces, by time and not by count, since nobody knows how much one piece is. */
export interface Turns {
  /** Whether it is for others now. */
  readonly isOver: () => boolean;
  /** Lets them have their turn; rejects once the work is given up. */
  readonly next: () => Promise<void>;
}

export function takeTurns(signal?: AbortSignal, now: () => number = () => performance.now()): Turns {
  let since = now();
  return {
    isOver: () => now() - since >= TURN_MS,
    async next() {
      await setImmediate();
      signal?.throwIfAborted();
      since = now();
    },
  };
}
