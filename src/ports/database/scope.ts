/**
 * Ends transactions that hang or are used after their end, for both backends. It knows no SQL.
 */
import type { MutexLimit } from '../../platform/concurrency/mutex.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Queries } from './database.ts';

/** Longer than any one query may take, so that it only ends transactions whose `work` hangs. */
const maxIdleMs = 60_000;

/** How many queries or transactions wait for the same connection or pool. */
export const waitingLimit: MutexLimit = {
  mostWaiting: 10_000,
  refuse: () =>
    new WorkcrateError('database_failed', 'Too many queries are waiting for the database. Try again later.'),
};

/**
 * Runs the `work` of one transaction with a `tx` that ends with it: later use is refused rather than
 * run in somebody else's transaction. A failed query dooms the transaction even if `work` goes on, as
 * it does in PostgreSQL. Work that idles is given up, for instance one that waits for the outer object.
 */
export async function runWork<T>(queries: Queries, work: (tx: Queries) => Promise<T>): Promise<T> {
  const idle = createIdleLimit();
  const scope = createQueryScope(queries, idle.postpone);
  try {
    const result = await Promise.race([work(scope.tx), idle.passed]);
    await scope.settled();
    return result;
  } finally {
    scope.end();
    idle.stop();
  }
}

function createQueryScope(queries: Queries, asked: () => void) {
  const pending = new Set<Promise<unknown>>();
  const failures: unknown[] = [];
  let ended = false;

  const tx: Queries = {
    async query(sql, ...values) {
      if (ended) throw usedAfterEndError();
      if (failures.length > 0) throw failures[0];
      const answer = queries.query<never>(sql, ...values);
      pending.add(answer);
      try {
        return await answer;
      } catch (error) {
        failures.push(error);
        throw error;
      } finally {
        pending.delete(answer);
        asked();
      }
    },
  };

  return {
    tx,
    end: () => (ended = true),
    /** Waits for queries that `work` did not await, and rejects if any failed. */
    async settled() {
      if (pending.size > 0) await Promise.allSettled(pending);
      if (failures.length > 0) throw failures[0];
    },
  };
}

function createIdleLimit() {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(idleTransactionError()), maxIdleMs);
  let stopped = false;
  return {
    passed: promise,
    postpone: () => void (stopped || timer.refresh()),
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function usedAfterEndError(): WorkcrateError {
  return new WorkcrateError('database_failed', 'A transaction was used after it had ended.');
}

function idleTransactionError(): WorkcrateError {
  return new WorkcrateError(
    'database_failed',
    `A transaction was idle for ${maxIdleMs / 1000} s and was rolled back. Inside it, use tx alone.`,
  );
}
