import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { yieldToEventLoop } from '../../concurrency/yield.ts';
import type { Database } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** Longer than any step of the fitting takes, since nothing is renewed while it computes. */
const leaseMs = 300_000;
const renewMs = 15_000;

/** The right to be the only one that makes a model. Dispose to give it back. */
export interface FittingLease extends AsyncDisposable {
  readonly holder: string;
  /** Lets others have the thread, and throws where the work is to end: cancelled, or the lease lost. */
  pause(): Promise<void>;
}

/** Takes the lease, or throws `index_busy`. That of a process that died runs out by itself. */
export async function takeFittingLease(
  { database, clock, log }: { database: Database; clock: Clock; log: Log },
  signal?: AbortSignal,
): Promise<FittingLease> {
  const holder = randomUUID();
  const hold = async (where: string, ...values: (string | number)[]): Promise<void> => {
    const sql = `UPDATE crate_meaning SET lease_holder = ?, lease_until = ?
      WHERE only_one = 1 AND ${where} RETURNING only_one`;
    const rows = await database.query(sql, holder, clock() + leaseMs, ...values);
    if (rows.length === 0) throw busy();
  };
  await hold('(lease_until IS NULL OR lease_until <= ?)', clock());
  let renewed = clock();
  return {
    holder,
    async pause() {
      await yieldToEventLoop();
      signal?.throwIfAborted();
      if (clock() - renewed < renewMs) return;
      await hold('lease_holder = ?', holder);
      renewed = clock();
    },
    async [Symbol.asyncDispose]() {
      const sql = `UPDATE crate_meaning SET lease_holder = NULL, lease_until = NULL
        WHERE only_one = 1 AND lease_holder = ?`;
      // Where this fails, the lease runs out by itself; what was done under it stands.
      await database
        .query(sql, holder)
        .catch((error: unknown) => log.warn('crates.lease_release_failed', { error }));
    },
  };
}

export const busy = (): WorkcrateError =>
  new WorkcrateError(
    'index_busy',
    'Another process is fitting the search by meaning. The one that there is goes on serving; try again later.',
  );
