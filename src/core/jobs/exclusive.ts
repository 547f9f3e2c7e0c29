/**
 * Work of which one piece at a time is under way for an owner, on whichever server: a job whose id all agree on. It stops
 * no work that another has taken over: `lost` tells.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import type { Database } from '../../ports/database/database.ts';
import { createJobs, type HeldJob } from './jobs.ts';
import { deleteJob, takeJob, toJobTable, type JobKind } from './rows.ts';

const tryAgainMs = 300;

export interface ExclusiveJobsOptions {
  readonly database: Database;
  /** Tells this holder from others on the same database. */
  readonly server: string;
  readonly kind: JobKind;
  readonly clock: Clock;
  /** Told where a look fails; the next one comes. */
  readonly lookFailed: (error: unknown) => void;
  /** Why the work ends where it was lost. */
  readonly createLostError: () => Error;
}

/** To be disposed of when the work is done, or given up. */
export interface ExclusiveJob extends AsyncDisposable {
  /** Fires if another has it, or its row was deleted. */
  readonly lost: AbortSignal;
}

export type ExclusiveJobs = ReturnType<typeof createExclusiveJobs>;

export function createExclusiveJobs(options: ExclusiveJobsOptions) {
  const { database, server, kind, clock, createLostError } = options;
  const jobs = createJobs<HeldJob>({ ...options, table: toJobTable(kind, { isAlwaysSigned: true }) });

  /** Null while another does it. */
  async function take(owner: string): Promise<ExclusiveJob | null> {
    const id = `${kind}/${owner}`;
    const epoch = await takeJob(database, { id, kind, owner, server, now: clock() });
    if (epoch === null) return null;
    const stop = new AbortController();
    const lose = (): void => stop.abort(createLostError());
    jobs.hold(id, { owner, epoch, cancel: lose, lose });
    return {
      lost: stop.signal,
      async [Symbol.asyncDispose]() {
        jobs.release(id);
        // If this fails, others can take it when it was silent for long.
        await deleteJob(database, { id, server, epoch }).catch((error: unknown) => {
          if (!isWorkcrateError(error)) throw error;
        });
      },
    };
  }

  return {
    take,

    /** Waits until nobody else does it. What was held by one that is gone can be taken within a minute. */
    async wait(owner: string, signal: AbortSignal): Promise<ExclusiveJob> {
      for (;;) {
        signal.throwIfAborted();
        const job = await take(owner);
        if (job !== null) return job;
        await pause(tryAgainMs, null, { signal });
      }
    },

    [Symbol.asyncDispose]: jobs[Symbol.asyncDispose],
  };
}
