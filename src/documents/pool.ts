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

/** Processes that are opened when all others are busy. The oldest that is free comes first: it is warm. */
export function createPool<P extends Pooled>({ most, idleMs, open }: PoolOptions<P>): Pool<P> {
  const slots = new Set<Slot<P>>();
  const waiting = new Set<Waiting<P>>();
  let isClosed = false;

  function openSlot(): Slot<P> {
    const slot = { process: open(), isBusy: false, idle: undefined };
    slots.add(slot);
    return slot;
  }

  async function take(signal: AbortSignal): Promise<Slot<P>> {
    signal.throwIfAborted();
    if (isClosed) throw stopping();
    const free = slots.values().find(({ isBusy }) => !isBusy) ?? (slots.size < most ? openSlot() : null);
    if (free === null) return turn(waiting, signal);
    clearTimeout(free.idle);
    free.isBusy = true;
    return free;
  }

  function giveBack(slot: Slot<P>): void {
    const [next] = waiting;
    if (next !== undefined) return next.resolve(slot);
    slot.isBusy = false;
    if (isClosed) return;
    if (idleMs === 0) close(slot);
    else slot.idle = setTimeout(close, idleMs, slot).unref();
  }

  function close(slot: Slot<P>): void {
    slots.delete(slot);
    void slot.process[Symbol.asyncDispose]();
  }

  return {
    async use(work, signal) {
      const slot = await take(signal);
      const kill = (): void => slot.process.kill(signal.reason);
      signal.addEventListener('abort', kill, { once: true });
      try {
        // It may have fired between the turn and here.
        signal.throwIfAborted();
        return await work(slot.process);
      } finally {
        signal.removeEventListener('abort', kill);
        giveBack(slot);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const { reject } of waiting) reject(stopping());
      await Promise.all([...slots].map(endSlot));
    },
  };
}

async function endSlot({ process, idle }: Slot<Pooled>): Promise<void> {
  clearTimeout(idle);
  process.kill(stopping());
  await process[Symbol.asyncDispose]();
}

interface Waiting<P> {
  resolve(slot: Slot<P>): void;
  reject(error: unknown): void;
}

async function turn<P>(waiting: Set<Waiting<P>>, signal: AbortSignal): Promise<Slot<P>> {
  if (waiting.size >= mostWaiting)
    throw new WorkcrateError('documents_busy', 'Too many conversions wait already. Try again later.');
  const { promise, resolve, reject } = Promise.withResolvers<Slot<P>>();
  // Gone at once, so that nobody is given two.
  const gone = (): void => {
    waiting.delete(own);
    signal.removeEventListener('abort', abort);
  };
  const own: Waiting<P> = {
    resolve(slot) {
      gone();
      resolve(slot);
    },
    reject(error) {
      gone();
      reject(error);
    },
  };
  const abort = (): void => own.reject(signal.reason);
  waiting.add(own);
  signal.addEventListener('abort', abort, { once: true });
  return promise;
}

const stopping = (): WorkcrateError => new WorkcrateError('stopping', 'The server is stopping.');
