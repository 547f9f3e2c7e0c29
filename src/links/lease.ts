import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';

const leaseMs = 30_000;

/** The right of one transfer to be the only one on its upload or single-use link. Dispose to give it back. */
export interface Lease extends AsyncDisposable {
  readonly holder: string;
}

type LeasedTable = 'uploads' | 'links';

/**
 * Takes the lease, or gives null where another transfer has it. It is renewed while it is held; the lease
 * of a process that died runs out by itself. One UPDATE decides, so any number of processes may ask.
 */
export async function takeLease(
  { database, clock, log }: { database: Database; clock: Clock; log: Log },
  table: LeasedTable,
  tokenHash: string,
  holder: string,
): Promise<Lease | null> {
  const now = clock();
  const taken = await database.query(
    `UPDATE ${table} SET lease_holder = ?, lease_until = ?
     WHERE token_hash = ? AND (lease_until IS NULL OR lease_until <= ?) RETURNING id`,
    holder,
    now + leaseMs,
    tokenHash,
    now,
  );
  if (taken.length === 0) return null;
  const renew = async (): Promise<void> => {
    await database.query(
      `UPDATE ${table} SET lease_until = ? WHERE token_hash = ? AND lease_holder = ?`,
      clock() + leaseMs,
      tokenHash,
      holder,
    );
  };
  const release = async (): Promise<void> => {
    await database.query(
      `UPDATE ${table} SET lease_holder = NULL, lease_until = NULL WHERE token_hash = ? AND lease_holder = ?`,
      tokenHash,
      holder,
    );
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn('lease.renew_failed', { table, error }));
  }, leaseMs / 3).unref();
  return {
    holder,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      // Where this fails, as on a full disk, the lease runs out by itself; what was done under it stands.
      await release().catch((error: unknown) => log.warn('lease.release_failed', { table, error }));
    },
  };
}

/** Ends the leases that a crash left, where this process alone uses the database. */
export async function dropLeases(database: Database): Promise<void> {
  for (const table of ['uploads', 'links'] satisfies LeasedTable[])
    await database.query(
      `UPDATE ${table} SET lease_holder = NULL, lease_until = NULL WHERE lease_until IS NOT NULL`,
    );
}
