/**
 * Whose turn it is in a session: one after the other, in the order of asking. A turn is given back by whoever has it,
 * however long that takes.
 */
import { WorkcrateError } from '../../../platform/errors.ts';

/** Cells that wait in one session. */
const maxWaiting = 32;

export interface Turn {
  /** Resolves when those who asked before have given their turns back; rejects with `cancelled`. */
  wait(signal: AbortSignal): Promise<void>;
  /** The second call does nothing. */
  release(): void;
}

export interface Turns {
  /** Whether nobody has a turn or waits for one. */
  isFree(): boolean;
  take(): Turn;
}

export function createTurns(): Turns {
  let last: Promise<void> = Promise.resolve();
  let count = 0;
  return {
    isFree: () => count === 0,
    take() {
      if (count > maxWaiting) throw tooManyWaitingError();
      count++;
      const before = last;
      const over = Promise.withResolvers<void>();
      last = before.then(() => over.promise);
      let isOver = false;
      return {
        wait: (signal) => waitUnlessAborted(before, signal),
        release() {
          if (isOver) return;
          isOver = true;
          count--;
          over.resolve();
        },
      };
    },
  };
}

async function waitUnlessAborted(before: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const abort = (): void => aborted.reject(cancelledError());
  if (signal.aborted) throw cancelledError();
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([before, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function cancelledError(): WorkcrateError {
  return new WorkcrateError('cancelled', 'The call was cancelled before its turn in the session came.');
}

function tooManyWaitingError(): WorkcrateError {
  return new WorkcrateError(
    'sandbox_busy',
    `More than ${maxWaiting} cells wait in this session already. Wait for some of them, or interrupt the cell that runs (manage_session).`,
  );
}
