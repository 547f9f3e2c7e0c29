import type { TimeSlices } from '../../concurrency/yield.ts';

/** As a client sent them: anything at all. Whoever reads them for us may return how they ended. */
export type RawEntries = Iterable<unknown, RawEnd | void> | AsyncIterable<unknown, RawEnd | void>;

export interface RawEnd {
  /** `unknown` where it broke off without a word, so that it may have been anything. */
  readonly end: 'whole' | 'cut' | 'unknown';
  /** How many there were that cannot be told. */
  readonly hidden: number;
}

/** Where nobody says otherwise. */
const whole: RawEnd = { end: 'whole', hidden: 0 };
const cut: RawEnd = { end: 'cut', hidden: 0 };

/**
 * Gives each to `take` until that has its fill, or the work has taken too many slices. What a generator returns would be
 * lost on a `for await`, and another generator around it takes half as long again.
 */
export async function readEach(
  raw: RawEntries,
  slices: TimeSlices,
  mostSlices: number,
  take: (one: unknown) => boolean,
): Promise<RawEnd> {
  const entries = iteratorOf(raw);
  let [taken, hasEnded] = [0, false];
  try {
    for (;;) {
      const step = await entries.next();
      hasEnded = step.done === true;
      if (step.done) return step.value ?? whole;
      if (slices.isOver()) {
        if (++taken > mostSlices) return cut;
        await slices.next();
      }
      if (!take(step.value)) return cut;
    }
  } finally {
    if (!hasEnded) await entries.return?.();
  }
}

type RawIterator = Iterator<unknown, RawEnd | void> | AsyncIterator<unknown, RawEnd | void>;

const iteratorOf = (raw: RawEntries): RawIterator =>
  Symbol.asyncIterator in raw ? raw[Symbol.asyncIterator]() : raw[Symbol.iterator]();
