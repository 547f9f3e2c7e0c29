import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import { acquireLease } from '../../../platform/concurrency/lease.ts';
import type { Database } from '../../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';

const syncLeaseMs = 60_000;

/**
 * A lease: the right of one process to do something. It is renewed until it is released; `lost` fires if another process
 * has taken it. If it is disposed of without `finish`, the next holder sees that the work was interrupted.
 */
export interface SyncLease extends AsyncDisposable {
  readonly lost: AbortSignal;
  /** Whether the previous holder did not finish. */
  readonly wasCutOff: boolean;
  /** Call it once everything is done. */
  finish(): Promise<void>;
}

/** Null while another process holds it. A process that has died loses it within a minute. */
export async function acquireSyncLease(
  database: Database,
  name: string,
  clock: Clock,
): Promise<SyncLease | null> {
  const before = await database.query('SELECT name FROM crate_leases WHERE name = ?', name);
  const stop = new AbortController();
  const acquired = await acquireLease({
    database,
    row: {
      table: 'crate_leases',
      key: ['name', name],
      holderColumn: 'holder',
      untilColumn: 'until',
      free: { until: 0 },
      isInserted: true,
    },
    holder: randomBytes(12).toString('hex'),
    time: { clock, sharedClock: null },
    leaseMs: syncLeaseMs,
    // A database that does not answer for a moment does not mean that the lease is lost.
    renewal: { everyMs: syncLeaseMs / 4, onLost: () => stop.abort(leaseLostError()) },
  });
  if (acquired === null) return null;
  return {
    lost: stop.signal,
    wasCutOff: before.length > 0,
    finish: async () => void (await acquired.remove()),
    // Does nothing after `finish`, or if another process has it by now. If this fails, the lease expires by itself.
    async [Symbol.asyncDispose]() {
      await acquired.release().catch(ignoreLeaseDatabaseError);
    },
  };
}

const leaseLostError = (): WorkcrateError =>
  new WorkcrateError(
    'index_busy',
    'Another process has taken over, since this one did not renew its lease for a minute. index_status shows the progress.',
  );

function ignoreLeaseDatabaseError(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}
