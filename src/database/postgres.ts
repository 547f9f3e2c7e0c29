import { WorkcrateError } from '../errors.ts';
import type { Database, Queries, Row, SqlValue } from './database.ts';
import { isConnectionLost, isDamage } from './postgres-errors.ts';
import { type Lend, lendingFrom } from './postgres-loan.ts';
import { openPool } from './postgres-pool.ts';
import { transact } from './postgres-transaction.ts';
import { verifyPostgres } from './postgres-verify.ts';
import { waitingLimit } from './scope.ts';

/** The backend for several processes. The first query connects, not this function. */
export async function postgresDatabase(url: string): Promise<Database> {
  const { pool, place } = await openPool(url);
  const lend = lendingFrom(pool, place);
  const running = new Set<Promise<unknown>>();
  let closing: Promise<void> | null = null;
  let damage: unknown = null;

  // The pool forgets those who wait for a connection when it ends, so they are awaited here.
  const tracked = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closing !== null) throw new WorkcrateError('database_failed', `PostgreSQL at ${place} is closed.`);
    if (pool.waitingCount >= waitingLimit.mostWaiting) throw waitingLimit.refuse();
    const promise = work();
    running.add(promise);
    try {
      return await promise;
    } catch (error) {
      if (isDamage(error)) damage ??= error;
      throw error;
    } finally {
      running.delete(promise);
    }
  };

  const query: Queries['query'] = (sql, ...values) => tracked(() => querySingly(lend, sql, values));
  const transaction: Database['transaction'] = (work) => tracked(() => transact(lend, work));
  return {
    kind: 'postgres',
    isShared: true,
    sharedClock: 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)',
    version: () => null,
    query,
    transaction,
    verify: () => verifyPostgres({ query }, transaction),
    async demandWhole() {
      if (damage !== null) throw damage;
    },
    close() {
      closing ??= Promise.allSettled(running).then(() => pool.end());
      return closing;
    },
  };
}

/** A pooled connection may have died unnoticed. What only reads is asked again on another. */
async function querySingly<T extends Row>(lend: Lend, sql: string, values: SqlValue[]): Promise<T[]> {
  try {
    return await lend((loan) => loan.query<T>(sql, ...values));
  } catch (error) {
    if (!isConnectionLost(error) || !/^\s*SELECT\b/i.test(sql)) throw error;
  }
  return lend((loan) => loan.query<T>(sql, ...values));
}
