/**
 * The right of one server to install for a user, among all that share a database: environments are replaced whole, so of
 * two at once one would be lost. Within a server users wait for each other in `packages.ts`.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import { acquireLease } from '../../platform/concurrency/lease.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';

const leaseMs = 60_000;
const renewMs = 3000;
const tryAgainMs = 300;

export interface InstallLease extends AsyncDisposable {
  /** Fires if another has taken it, or the user was removed. */
  readonly lost: AbortSignal;
}

export interface LeaseOptions {
  readonly database: Database;
  /** Tells this server from others on the same database. */
  readonly server: string;
  readonly clock: Clock;
}

/** Waits until nobody else installs for the user. */
export async function waitForLease(
  options: LeaseOptions,
  owner: string,
  signal: AbortSignal,
): Promise<InstallLease> {
  for (;;) {
    signal.throwIfAborted();
    const lease = await takeLease(options, owner);
    if (lease !== null) return lease;
    await pause(tryAgainMs, null, { signal });
  }
}

/** Null while another server installs for this user. */
export async function takeLease(
  { database, server, clock }: LeaseOptions,
  owner: string,
): Promise<InstallLease | null> {
  const stop = new AbortController();
  const acquired = await acquireLease({
    database,
    row: {
      table: 'installs',
      key: ['owner', owner],
      holderColumn: 'holder',
      untilColumn: 'until',
      free: { until: 0 },
      isInserted: true,
    },
    holder: `${server}/${randomBytes(12).toString('hex')}`,
    time: { clock, sharedClock: database.sharedClock },
    leaseMs,
    renewal: { everyMs: renewMs, onLost: () => stop.abort(leaseLostError()) },
  });
  if (acquired === null) return null;
  return {
    lost: stop.signal,
    // If this fails, the lease runs out by itself.
    async [Symbol.asyncDispose]() {
      await acquired.remove().catch((error: unknown) => {
        if (!isWorkcrateError(error)) throw error;
      });
    },
  };
}

const leaseLostError = (): WorkcrateError =>
  new WorkcrateError(
    'cancelled',
    'The install was ended: you were removed from this server, or it did not answer for a minute. What was installed before is as it was.',
  );

/** What this server held when it was killed. */
export async function dropOwnLeases({ database, server }: LeaseOptions): Promise<void> {
  await database.query('DELETE FROM installs WHERE holder LIKE ?', `${server}/%`);
}

/** Ends the installs of a user who is being removed, in the transaction of the caller: their servers see it. */
export async function endUserInstalls(tx: Queries, owner: string): Promise<number> {
  return (await tx.query('DELETE FROM installs WHERE owner = ? RETURNING owner', owner)).length;
}
