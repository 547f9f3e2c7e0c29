import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Database, SqlValue } from '../database/database.ts';
import type { Log } from '../log.ts';

const leaseMs = 30_000;
const retryMs = 500;

/** Columns of the leased row that are written together with its lease. */
type Columns = Readonly<Record<string, SqlValue>>;

/** The right of one transfer to be the only one on its upload or single-use link. Dispose to give it back. */
export interface Lease extends AsyncDisposable {
  readonly holder: string;
  /**
   * Writes these columns and gives the lease back, in one statement: whether the lease was still this one. Where that
   * fails it rejects, and goes on trying to give the lease back.
   */
  finish(columns: Columns): Promise<boolean>;
}

type LeasedTable = 'uploads' | 'links';

interface LeaseOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Takes the lease, or gives null where another transfer has it. It is renewed while it is held, together with what
 * `progress` gives; the lease of a process that died runs out by itself. One UPDATE decides, so any number of processes
 * may ask.
 */
export async function takeLease(
  options: LeaseOptions,
  table: LeasedTable,
  tokenHash: string,
  holder: string,
  progress: () => Columns = () => ({}),
): Promise<Lease | null> {
  const { database, log } = options;
  const [until, idle] = [leaseEnd(options), idleLease(options)];
  const taken = await database.query(
    `UPDATE ${table} SET lease_holder = ?, lease_until = ${until.sql} WHERE token_hash = ? AND ${idle.sql} RETURNING id`,
    holder,
    ...until.values,
    tokenHash,
    ...idle.values,
  );
  if (taken.length === 0) return null;
  const write = async (lease: string, leaseValues: SqlValue[], columns: Columns): Promise<boolean> => {
    const assignments = [lease, ...Object.keys(columns).map((name) => `${name} = ?`)].join(', ');
    const written = await database.query(
      `UPDATE ${table} SET ${assignments} WHERE token_hash = ? AND lease_holder = ? RETURNING id`,
      ...leaseValues,
      ...Object.values(columns),
      tokenHash,
      holder,
    );
    return written.length > 0;
  };
  const renew = (): Promise<boolean> => {
    const { sql, values } = leaseEnd(options);
    return write(`lease_until = ${sql}`, values, progress());
  };
  const giveBack = (columns: Columns): Promise<boolean> =>
    write('lease_holder = NULL, lease_until = NULL', [], columns);
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn('lease.renew_failed', { table, error }));
  }, leaseMs / 3).unref();
  let isFinished = false;
  const finish = async (columns: Columns): Promise<boolean> => {
    clearInterval(timer);
    isFinished = true;
    try {
      return await giveBack(columns);
    } catch (error) {
      log.warn('lease.release_failed', { table, error });
      void retry(() => giveBack(columns));
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

interface Fragment {
  readonly sql: string;
  readonly values: number[];
}

/** The time by which leases are judged: the database's own where several servers use it, whose clocks may differ. */
function leaseTime({ database, clock }: Omit<LeaseOptions, 'log'>): Fragment {
  const { sharedClock } = database;
  return sharedClock === null ? { sql: '?', values: [clock()] } : { sql: sharedClock, values: [] };
}

function leaseEnd(options: LeaseOptions): Fragment {
  const { sql, values } = leaseTime(options);
  return { sql: `${sql} + ${leaseMs}`, values };
}

/** The condition that nobody has the lease of a row. */
export function idleLease(options: Omit<LeaseOptions, 'log'>): Fragment {
  const { sql, values } = leaseTime(options);
  return { sql: `(lease_until IS NULL OR lease_until <= ${sql})`, values };
}

/** Ends the leases that a crash left, where this process alone uses the database. */
export async function dropLeases(database: Database): Promise<void> {
  for (const table of ['uploads', 'links'] satisfies LeasedTable[])
    await database.query(
      `UPDATE ${table} SET lease_holder = NULL, lease_until = NULL WHERE lease_until IS NOT NULL`,
    );
}
