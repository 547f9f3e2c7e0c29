import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import { acquireLease } from '../../../platform/concurrency/lease.ts';
import { yieldToEventLoop } from '../../../platform/concurrency/yield.ts';
import type { Database } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';

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
  const lease = await acquireLease({
    database,
    row: {
      table: 'crate_meaning',
      key: ['only_one', 1],
      holderColumn: 'lease_holder',
      untilColumn: 'lease_until',
      free: { lease_holder: null, lease_until: null },
    },
    holder: randomUUID(),
    time: { clock, sharedClock: null },
    leaseMs,
  });
  if (lease === null) throw busy();
  let renewed = clock();
  return {
    holder: lease.holder,
    async pause() {
      await yieldToEventLoop();
      signal?.throwIfAborted();
      if (clock() - renewed < renewMs) return;
      if (!(await lease.renew())) throw busy();
      renewed = clock();
    },
    async [Symbol.asyncDispose]() {
      // Where this fails, the lease runs out by itself; what was done under it stands.
      await lease.release().catch((error: unknown) => log.warn('crates.lease_release_failed', { error }));
    },
  };
}

export const busy = (): WorkcrateError =>
  new WorkcrateError(
    'index_busy',
    'Another process is computing the search by meaning. What was computed before stays in use; try again later.',
  );
