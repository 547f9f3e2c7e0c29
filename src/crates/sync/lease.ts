import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { acquireLease } from '../../concurrency/lease.ts';
import type { Database } from '../../database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';

const syncLeaseMs = 60_000;

/**
 * The right of one process to do something. It is renewed until it is given back; `lost` fires where another has it.
 * Given back by disposal alone, it leaves word that the work was cut off.
 */
export interface SyncLease extends AsyncDisposable {
  readonly lost: AbortSignal;
  /** Whether whoever had it before did not come to an end. */
  readonly wasCutOff: boolean;
  /** To be called once everything is done. */
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
    // A database that does not answer for a moment says nothing; one that says no does.
    renewal: { everyMs: syncLeaseMs / 4, onLost: () => stop.abort(leaseLostError()) },
  });
  if (acquired === null) return null;
  return {
    lost: stop.signal,
    wasCutOff: before.length > 0,
    finish: async () => void (await acquired.remove()),
    // Nothing is left to change after `finish`, or where another has it by now. Where this fails, it runs out by itself.
    async [Symbol.asyncDispose]() {
      await acquired.release().catch(ignoreLeaseDatabaseError);
    },
  };
}

const leaseLostError = (): WorkcrateError =>
  new WorkcrateError(
    'index_busy',
    'Another process has gone on with this, since it was not heard from for a minute. index_status shows how far it is.',
  );

function ignoreLeaseDatabaseError(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}
