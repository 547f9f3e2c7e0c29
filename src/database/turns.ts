import { WorkcrateError } from '../errors.ts';

const MOST_WAITING = 10_000;

export interface Turns {
  /** Whether nobody has the turn and nobody waits for it. */
  free(): boolean;
  /** Runs `work` alone, after all who asked before. */
  take<T>(work: () => T | Promise<T>): Promise<T>;
}

/** One at a time, in the order of asking. */
export function takingTurns(): Turns {
  const waiting: (() => void)[] = [];
  let taken = false;

  // Whoever ends hands the turn over without freeing it, so that nobody slips in between.
  const ended = () => {
    const next = waiting.shift();
    if (next === undefined) taken = false;
    else next();
  };

  return {
    free: () => !taken,
    async take(work) {
      if (waiting.length >= MOST_WAITING) throw tooManyWaiting();
      if (taken) await new Promise<void>((resolve) => waiting.push(resolve));
      taken = true;
      try {
        return await work();
      } finally {
        ended();
      }
    },
  };
}

export function tooManyWaiting(): WorkcrateError {
  return new WorkcrateError('database_failed', 'Too many queries wait for the database. Try again later.');
}
