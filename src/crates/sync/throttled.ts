import type { Clock } from '../../clock.ts';

/** Ten a second are as many as anybody can follow. */
const restMs = 100;

export interface Throttled<T> {
  /** Passed on, or left out where the last one was passed on a moment ago. */
  soon(progress: T): void;
  now(progress: T): void;
}

/** Tells of progress, each time of all of it, so that some of it need not be told. */
export function throttled<T>(report: (progress: T) => void, clock: Clock): Throttled<T> {
  let last = -Infinity;
  const now = (progress: T): void => {
    last = clock();
    report(progress);
  };
  return {
    now,
    // A clock that was set back must not silence it.
    soon: (progress) => (Math.abs(clock() - last) >= restMs ? now(progress) : undefined),
  };
}
