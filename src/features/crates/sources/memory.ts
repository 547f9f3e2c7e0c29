import { WorkcrateError } from '../../../platform/errors.ts';

/** Reserved bytes, until it is disposed of. */
export interface MemoryReservation extends Disposable {
  /** Releases what is not needed. */
  shrinkTo(bytes: number): void;
}

export interface MemoryBudgetLimits {
  readonly bytes: number;
  /** Up to this size, a reservation is granted at once and not counted. */
  readonly small: number;
  readonly mostWaiting: number;
  readonly mostMs: number;
}

interface WaitingReservation {
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * A semaphore for memory: first come, first served. A request for more than the total waits until it is alone. This is
 * not a fair queue, since requests have sizes, which may shrink, and wait for a limited time.
 */
export function createMemoryBudget({ bytes: total, small, mostWaiting, mostMs }: MemoryBudgetLimits) {
  const waiting: WaitingReservation[] = [];
  let free = total;

  function serve(): void {
    while (waiting.length > 0 && waiting[0]!.bytes <= free) {
      const { bytes, start } = waiting.shift()!;
      free -= bytes;
      start();
    }
  }

  function giveBack(bytes: number): void {
    free += bytes;
    serve();
  }

  async function turn(bytes: number, signal?: AbortSignal): Promise<void> {
    if (waiting.length >= mostWaiting) throw memoryBudgetBusyError();
    const { promise, resolve: start, reject } = Promise.withResolvers<void>();
    const one = { bytes, start };
    const leave = (reason: unknown): void => {
      const at = waiting.indexOf(one);
      if (at < 0) return;
      waiting.splice(at, 1);
      reject(reason);
      // The next in the queue may need less.
      serve();
    };
    const onAbort = (): void => leave(signal?.reason);
    const timer = setTimeout(() => leave(memoryBudgetBusyError()), mostMs);
    signal?.addEventListener('abort', onAbort);
    waiting.push(one);
    serve();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    get free(): number {
      return free;
    },
    get waiting(): number {
      return waiting.length;
    },
    async take(wanted: number, signal?: AbortSignal): Promise<MemoryReservation> {
      signal?.throwIfAborted();
      let held = wanted <= small ? 0 : Math.min(wanted, total);
      if (held > 0) await turn(held, signal);
      const shrinkTo = (bytes: number): void => {
        const less = bytes <= small ? 0 : Math.min(bytes, held);
        giveBack(held - less);
        held = less;
      };
      return { shrinkTo, [Symbol.dispose]: () => shrinkTo(0) };
    },
  };
}

const memoryBudgetBusyError = (): WorkcrateError =>
  new WorkcrateError(
    'index_busy',
    'Other archives with many members are being read, and there is not enough memory for this one as well. Try again in a minute.',
  );
