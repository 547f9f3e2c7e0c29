import { createFairQueue } from '../concurrency/fair-queue.ts';
import { WorkcrateError } from '../errors.ts';

/** What a process of the pool can do for it. */
export interface Pooled extends AsyncDisposable {
  /** Ends it now; it begins anew when it is next asked. */
  kill(cause: unknown): void;
}

export interface Pool<P extends Pooled> extends AsyncDisposable {
  /** Has a process to itself until the work is done. When the signal fires it is killed, with the signal's reason. */
  use<R>(work: (process: P) => Promise<R>, signal: AbortSignal): Promise<R>;
}

export interface PoolOptions<P extends Pooled> {
  /** Most processes. */
  readonly most: number;
  /** How long one is kept that has nothing to do. */
  readonly idleMs: number;
  open(): P;
}

interface Slot<P> {
  readonly process: P;
  isBusy: boolean;
  idle: NodeJS.Timeout | undefined;
}

const mostWaiting = 1000;
/** First come, first served: `documents.ts` has users take turns before. */
const everybody = '';

/** Processes that are opened when all others are busy. The oldest that is free comes first: it is warm. */
export function createPool<P extends Pooled>({ most, idleMs, open }: PoolOptions<P>): Pool<P> {
  const slots = new Set<Slot<P>>();
  const queue = createFairQueue({
    most,
    mostOfUser: most,
    mostWaitingOfUser: mostWaiting,
    refusals: { busy, cancelled: ({ reason }) => reason as unknown, closed: stopping },
  });
  let isClosed = false;

  function openSlot(): Slot<P> {
    const slot = { process: open(), isBusy: false, idle: undefined };
    slots.add(slot);
    return slot;
  }

  function take(): Slot<P> {
    if (isClosed) throw stopping();
    const slot = slots.values().find(({ isBusy }) => !isBusy) ?? openSlot();
    clearTimeout(slot.idle);
    slot.isBusy = true;
    return slot;
  }

  function giveBack(slot: Slot<P>): void {
    slot.isBusy = false;
    if (isClosed) return;
    if (idleMs === 0 && queue.queued() === 0) close(slot);
    else slot.idle = setTimeout(close, idleMs, slot).unref();
  }

  function close(slot: Slot<P>): void {
    slots.delete(slot);
    void slot.process[Symbol.asyncDispose]();
  }

  async function useSlot<R>(work: (process: P) => Promise<R>, signal: AbortSignal): Promise<R> {
    // It may have fired between the turn and here.
    signal.throwIfAborted();
    const slot = take();
    const kill = (): void => slot.process.kill(signal.reason);
    signal.addEventListener('abort', kill, { once: true });
    try {
      return await work(slot.process);
    } finally {
      signal.removeEventListener('abort', kill);
      giveBack(slot);
    }
  }

  return {
    async use(work, signal) {
      signal.throwIfAborted();
      return queue.run({ user: everybody, signal }, () => useSlot(work, signal));
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      queue.close();
      await Promise.all([...slots].map(endSlot));
    },
  };
}

async function endSlot({ process, idle }: Slot<Pooled>): Promise<void> {
  clearTimeout(idle);
  process.kill(stopping());
  await process[Symbol.asyncDispose]();
}

const busy = (): WorkcrateError =>
  new WorkcrateError('documents_busy', 'Too many conversions wait already. Try again later.');

const stopping = (): WorkcrateError => new WorkcrateError('stopping', 'The server is stopping.');
