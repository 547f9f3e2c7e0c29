/**
 * A pool of processes: each does one job at a time, is killed when the job's signal fires, and is closed when it is
 * idle. It knows nothing about what they do, and it is not fair among users: `documents.ts` is.
 */
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts';
import { WorkcrateError } from '../../platform/errors.ts';

/** What the pool needs of a process. */
export interface PooledProcess extends AsyncDisposable {
  /** Ends it now; it starts again with the next call. */
  kill(cause: unknown): void;
}

export interface ProcessPool<P extends PooledProcess> extends AsyncDisposable {
  /** Gives the work a process of its own until it is done. When the signal fires, the process is killed. */
  use<R>(work: (process: P) => Promise<R>, signal: AbortSignal): Promise<R>;
}

export interface ProcessPoolOptions<P extends PooledProcess> {
  /** Most processes. */
  readonly most: number;
  /** How long an idle process is kept. */
  readonly idleMs: number;
  open(): P;
}

interface ProcessSlot<P> {
  readonly process: P;
  isBusy: boolean;
  idle: NodeJS.Timeout | undefined;
}

const maxWaitingConversions = 1000;
/** First come, first served: the fair queue of `documents.ts` comes before. */
const sharedQueueUser = '';

/** Opens a process when all others are busy. The oldest free one comes first: its caches are warm. */
export function createProcessPool<P extends PooledProcess>({
  most,
  idleMs,
  open,
}: ProcessPoolOptions<P>): ProcessPool<P> {
  const slots = new Set<ProcessSlot<P>>();
  const queue = createFairQueue({
    most,
    mostOfUser: most,
    mostWaitingOfUser: maxWaitingConversions,
    refusals: {
      busy: poolBusyError,
      cancelled: ({ reason }) => reason as unknown,
      closed: poolStoppingError,
    },
  });
  let isClosed = false;

  function openSlot(): ProcessSlot<P> {
    const slot = { process: open(), isBusy: false, idle: undefined };
    slots.add(slot);
    return slot;
  }

  function take(): ProcessSlot<P> {
    if (isClosed) throw poolStoppingError();
    const slot = slots.values().find(({ isBusy }) => !isBusy) ?? openSlot();
    clearTimeout(slot.idle);
    slot.isBusy = true;
    return slot;
  }

  function giveBack(slot: ProcessSlot<P>): void {
    slot.isBusy = false;
    if (isClosed) return;
    if (idleMs === 0 && queue.queued() === 0) close(slot);
    else slot.idle = setTimeout(close, idleMs, slot).unref();
  }

  function close(slot: ProcessSlot<P>): void {
    slots.delete(slot);
    void slot.process[Symbol.asyncDispose]();
  }

  async function useSlot<R>(work: (process: P) => Promise<R>, signal: AbortSignal): Promise<R> {
    // It may have fired while this waited for its turn.
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
      return queue.run({ user: sharedQueueUser, signal }, () => useSlot(work, signal));
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      queue.close();
      await Promise.all([...slots].map(closeProcessSlot));
    },
  };
}

async function closeProcessSlot({ process, idle }: ProcessSlot<PooledProcess>): Promise<void> {
  clearTimeout(idle);
  process.kill(poolStoppingError());
  await process[Symbol.asyncDispose]();
}

const poolBusyError = (): WorkcrateError =>
  new WorkcrateError('documents_busy', 'Too many conversions are waiting. Try again later.');

const poolStoppingError = (): WorkcrateError => new WorkcrateError('stopping', 'The server is stopping.');
