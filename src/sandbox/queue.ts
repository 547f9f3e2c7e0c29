import { WorkcrateError } from '../errors.ts';

/** How many wait at most, as a multiple of those that run. */
const waitingPerRun = 10;

export interface RunQueue {
  running(): number;
  queued(): number;
  /**
   * A place to run in, to be given back once. Rejects with `sandbox_busy` where too many wait already, with
   * `cancelled` where the signal came first, with `sandbox_unavailable` once the queue is closed.
   */
  enter(signal: AbortSignal): Promise<() => void>;
  /** Sends away all who wait, and all who come later. */
  close(): void;
}

interface Waiter {
  enter(): void;
  refuse(error: WorkcrateError): void;
}

/** At most `most` at once, the others in the order of asking. */
export function runQueue(most: number): RunQueue {
  const waiting = new Set<Waiter>();
  let running = 0;
  let closed = false;

  // Whoever ends hands the place over without freeing it, so that nobody slips in between.
  const leave = () => {
    const [next] = waiting;
    if (next === undefined) running--;
    else next.enter();
  };

  return {
    running: () => running,
    queued: () => waiting.size,
    async enter(signal) {
      if (closed) throw sandboxClosed();
      if (signal.aborted) throw runCancelled();
      if (running < most) running++;
      else if (waiting.size < most * waitingPerRun) await turn(waiting, signal);
      else throw sandboxBusy(most, waiting.size);
      return once(leave);
    },
    close() {
      closed = true;
      for (const waiter of waiting) waiter.refuse(sandboxClosed());
    },
  };
}

async function turn(waiting: Set<Waiter>, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const waiter: Waiter = {
    enter() {
      gone();
      resolve();
    },
    refuse(error) {
      gone();
      reject(error);
    },
  };
  const cancel = () => waiter.refuse(runCancelled());
  const gone = () => {
    waiting.delete(waiter);
    signal.removeEventListener('abort', cancel);
  };
  waiting.add(waiter);
  signal.addEventListener('abort', cancel);
  return promise;
}

/** A place that is given back twice would be one too many. */
function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

function runCancelled(): WorkcrateError {
  return new WorkcrateError('cancelled', 'The run was cancelled before it began.');
}

export function sandboxClosed(): WorkcrateError {
  return new WorkcrateError('sandbox_unavailable', 'The sandbox is closed, since the server is stopping.');
}

function sandboxBusy(running: number, queued: number): WorkcrateError {
  return new WorkcrateError(
    'sandbox_busy',
    `${running} runs are under way and ${queued} wait. Try again when some have ended.`,
    { details: { running, queued } },
  );
}
