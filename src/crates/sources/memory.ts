import { WorkcrateError } from '../../errors.ts';

/** So many bytes, until it is disposed. */
export interface MemoryReservation extends Disposable {
  /** Gives back what was not needed. */
  shrinkTo(bytes: number): void;
}

export interface MemoryBudgetLimits {
  readonly bytes: number;
  /** As little as this is given at once, and not counted. */
  readonly small: number;
  readonly mostWaiting: number;
  readonly mostMs: number;
}

interface WaitingReservation {
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * Shares out memory, first come, first served. What is more than there is waits until it is alone. No fair queue, since
 * each takes another share, which may shrink while it is held, and waits for a limited time.
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
      // Whoever stood behind may need less.
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
    'Other archives with many members are being read, and this one found no room beside them. Try again in a minute.',
  );
