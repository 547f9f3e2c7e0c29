import { yieldToEventLoop } from '../../../platform/concurrency/yield.ts';
import { WorkcrateError } from '../../../platform/errors.ts';

/** How one search goes on: it gives way to others, ends when nobody waits for it, and does not go on for ever. */
export interface Pace {
  /** To be awaited between pieces of work. Rejects where the search is to end. */
  breathe(): Promise<void>;
  /** To be called before so many crates are read to follow their references. */
  lookInto(crates: number): void;
}

export interface PaceLimits {
  /** Of its own work: while others have their turn, no time passes. */
  readonly mostMs: number;
  readonly mostLookedInto: number;
}

const usual: PaceLimits = { mostMs: 10_000, mostLookedInto: 200_000 };

/** So long nobody else has a turn: a database in a file answers at once, hence to wait for it gives none. */
const sliceMs = 10;
/** One for all searches of a thread: many short ones after each other keep others waiting as a long one does. */
let sliceFrom = 0;
/** A longer gap is no work: something else was waited for, such as an endpoint that has its own patience. */
const mostGapMs = 1000;

export function createPace(signal: AbortSignal | null, limits: Partial<PaceLimits> = {}): Pace {
  const { mostMs, mostLookedInto } = { ...usual, ...limits };
  let last = performance.now();
  let [worked, lookedInto] = [0, 0];

  return {
    async breathe() {
      signal?.throwIfAborted();
      const now = performance.now();
      worked += Math.min(now - last, mostGapMs);
      last = now;
      if (worked >= mostMs) throw tookTooLong(mostMs);
      if (now - sliceFrom < sliceMs) return;
      await yieldToEventLoop();
      last = sliceFrom = performance.now();
      signal?.throwIfAborted();
    },
    lookInto(crates) {
      lookedInto += crates;
      if (lookedInto > mostLookedInto) throw tooManyCrates(mostLookedInto);
    },
  };
}

const tookTooLong = (ms: number): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `The search was stopped because it took longer than ${ms / 1000} seconds. Narrow it down: fewer words, longer prefixes, fewer paths such as Person.name.`,
  );

const tooManyCrates = (most: number): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `The search would follow the references of more than ${most} crates. Narrow it down: a longer value, a shorter path, or filters.`,
  );
