/**
 * Lets the event loop serve others during long synchronous work: once, by time slices, or over a whole generator.
 * It does not limit how long the work takes, and does not move it to another thread (`platform/workers/` does).
 */

/** Resolves after the event loop has gone round once. A chain of promises that settle at once never lets it. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

let endOfTurn: Promise<void> | null = null;

/** Resolves once what came in with this turn of the event loop has been seen to; for all who wait at the same time. */
export function awaitEndOfTurn(): Promise<void> {
  endOfTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      endOfTurn = null;
      resolve();
    });
  });
  return endOfTurn;
}

const defaultSliceMs = 10;

/** Long work in slices of time and not of steps, since nobody knows how long a step takes. */
export interface TimeSlices {
  /** Whether the slice is used up, so that `next` is due. */
  readonly isOver: () => boolean;
  /** Yields to the event loop and begins a new slice. Rejects when the work has been cancelled. */
  readonly next: () => Promise<void>;
}

export function startTimeSlices(
  signal?: AbortSignal,
  now: () => number = () => performance.now(),
): TimeSlices {
  let since = now();
  return {
    isOver: () => now() - since >= defaultSliceMs,
    async next() {
      await yieldToEventLoop();
      signal?.throwIfAborted();
      since = now();
    },
  };
}

export interface SliceOptions<Step> {
  readonly sliceMs?: number;
  /** Is given every step. */
  readonly take?: (step: Step) => void;
  /** Looked at after each yield. */
  readonly signal?: AbortSignal;
  /** How many steps are taken between two looks at the clock, which costs as much as a short step. */
  readonly stepsPerLook?: number;
}

/** Runs a generator to its end, yields to the event loop after each slice, and closes the generator on any failure. */
export async function runInSlices<Step, End>(
  work: Generator<Step, End>,
  { sliceMs = 5, take, signal, stepsPerLook = 32 }: SliceOptions<Step>,
): Promise<End> {
  let since = performance.now();
  let steps = 0;
  try {
    for (;;) {
      const next = work.next();
      if (next.done) return next.value;
      take?.(next.value);
      if (++steps % stepsPerLook !== 0 || performance.now() - since < sliceMs) continue;
      await yieldToEventLoop();
      signal?.throwIfAborted();
      since = performance.now();
    }
  } finally {
    // Releases what the generator holds, such as open folders.
    work.return(undefined as End);
  }
}
