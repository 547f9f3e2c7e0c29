import { setTimeout as pause } from 'node:timers/promises';
import { createMutex } from '../concurrency/mutex.ts';
import type { Queries } from './database.ts';
import { isConflict, isConnectionLost } from './postgres-errors.ts';
import type { Lend, Loan } from './postgres-loan.ts';
import { waitingLimit, runWork } from './scope.ts';

const MOST_ATTEMPTS = 6;

/** Runs `work` in a transaction, again where the server undid it because of another one. */
export async function transact<T>(lend: Lend, work: (tx: Queries) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let committing = false;
    try {
      return await lend((loan) => runOnce(loan, work, () => (committing = true)));
    } catch (error) {
      // Lost at COMMIT, it may have been committed; lost before, it surely was not.
      const undone = isConflict(error) || (isConnectionLost(error) && !committing);
      if (!undone || attempt === MOST_ATTEMPTS) throw error;
    }
    await pause(Math.random() * 10 * 2 ** attempt);
  }
}

async function runOnce<T>(loan: Loan, work: (tx: Queries) => Promise<T>, committing: () => void): Promise<T> {
  const queries = oneByOne(loan);
  // Said outright, since a server may have another default, under which a busy row is an error.
  await queries.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    const result = await runWork(queries, work);
    committing();
    await queries.query('COMMIT');
    return result;
  } catch (error) {
    // The server rolls back by itself when the connection ends.
    await queries.query('ROLLBACK').catch(() => loan.discard());
    throw error;
  }
}

/** pg will no longer take a query while another is under way. */
function oneByOne(queries: Queries): Queries {
  const mutex = createMutex(waitingLimit);
  return { query: (sql, ...values) => mutex.run(() => queries.query(sql, ...values)) };
}
