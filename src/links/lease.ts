import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import {
  acquireLease,
  toIdleCondition,
  type Fragment,
  type LeaseColumns,
  type LeasedRow,
} from '../concurrency/lease.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';

const leaseMs = 30_000;
const retryMs = 500;

/** The right of one transfer to be the only one on its upload or single-use link. Dispose to give it back. */
export interface Lease extends AsyncDisposable {
  readonly holder: string;
  /**
   * Writes these columns and gives the lease back, in one statement: whether the lease was still this one. Where that
   * fails it rejects, and goes on trying to give the lease back.
   */
  finish(columns: LeaseColumns): Promise<boolean>;
}

type LeasedTable = 'uploads' | 'links';

interface LeaseOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

const toRow = (table: LeasedTable, tokenHash: string): LeasedRow => ({
  table,
  key: ['token_hash', tokenHash],
  holderColumn: 'lease_holder',
  untilColumn: 'lease_until',
  free: { lease_holder: null, lease_until: null },
});

const toTime = ({ database, clock }: Omit<LeaseOptions, 'log'>) => ({
  clock,
  sharedClock: database.sharedClock,
});

/**
 * Takes the lease, or gives null where another transfer has it. It is renewed while it is held, together with what
 * `progress` gives.
 */
export async function takeLease(
  options: LeaseOptions,
  table: LeasedTable,
  tokenHash: string,
  holder: string,
  progress: () => LeaseColumns = () => ({}),
): Promise<Lease | null> {
  const { database, log } = options;
  const acquired = await acquireLease({
    database,
    row: toRow(table, tokenHash),
    holder,
    time: toTime(options),
    leaseMs,
    renewal: {
      everyMs: leaseMs / 3,
      columns: progress,
      onError: (error) => log.warn('lease.renew_failed', { table, error }),
    },
  });
  if (acquired === null) return null;
  let isFinished = false;
  const finish = async (columns: LeaseColumns): Promise<boolean> => {
    isFinished = true;
    try {
      return await acquired.release(columns);
    } catch (error) {
      log.warn('lease.release_failed', { table, error });
      void retry(() => acquired.release(columns));
      throw error;
    }
  };
  return {
    holder,
    finish,
    async [Symbol.asyncDispose]() {
      // What was done under the lease is valid, whether or not it can be given back now.
      if (!isFinished) await finish({}).catch(() => {});
    },
  };
}

/** Until the lease has run out by itself. */
async function retry(giveBack: () => Promise<unknown>): Promise<void> {
  for (let waited = 0; waited < leaseMs; waited += retryMs) {
    await pause(retryMs, undefined, { ref: false });
    try {
      await giveBack();
      return;
    } catch {
      // The first failure is in the log, and this one is of the same cause.
    }
  }
}

/** The condition that nobody has the lease of a row. */
export const idleLease = (options: Omit<LeaseOptions, 'log'>): Fragment =>
  toIdleCondition('lease_until', toTime(options));

/** Ends the leases that a crash left, where this process alone uses the database. */
export async function dropLeases(database: Database): Promise<void> {
  for (const table of ['uploads', 'links'] satisfies LeasedTable[])
    await database.query(
      `UPDATE ${table} SET lease_holder = NULL, lease_until = NULL WHERE lease_until IS NOT NULL`,
    );
}
