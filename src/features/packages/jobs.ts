/**
 * Installs that are under way. One may outlast the call that asked for it: clients give up on long calls. It knows nothing
 * of packages.
 */
import type { Clock } from '../../platform/clock.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';

export interface RunningJob {
  readonly owner: string;
  readonly language: PackageLanguage;
  readonly names: readonly string[];
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** How a call waits for its job. */
export interface JobTerms {
  /** Ends the job, and not only the wait for it. */
  readonly cancel: AbortSignal;
  /** How long the call waits; null for as long as it takes. */
  readonly patienceMs: number | null;
  /** Told a line of what is being done. */
  progress(line: string): void;
}

/** One is under way, the others wait. */
const maxOfUser = 8;

export function createInstalls(clock: Clock, log: Log) {
  const running = new Map<RunningJob, { readonly stop: AbortController; readonly done: Promise<unknown> }>();
  const list = (owner: string): RunningJob[] => [...running.keys()].filter((job) => job.owner === owner);

  return {
    list,

    count: (): number => running.size,

    async run<T>(
      wanted: Omit<RunningJob, 'since'>,
      { cancel, patienceMs, progress }: JobTerms,
      work: (signal: AbortSignal, progress: (line: string) => void) => Promise<T>,
    ): Promise<T | RunningJob> {
      if (list(wanted.owner).length >= maxOfUser) throw tooManyInstallsError();
      const job = { ...wanted, since: clock() };
      const stop = new AbortController();
      const cancelJob = (): void => stop.abort(cancel.reason);
      if (cancel.aborted) cancelJob();
      cancel.addEventListener('abort', cancelJob, { once: true });
      const done = work(stop.signal, progress).finally(() => {
        running.delete(job);
        cancel.removeEventListener('abort', cancelJob);
      });
      running.set(job, { stop, done });
      using patience = startPatience(patienceMs);
      const outcome = await Promise.race([done, patience.over]);
      if (outcome !== stillRunning) return outcome as T;
      // Nobody waits for it now, but it can still be cancelled by whoever stops the server.
      done.catch((error: unknown) => log.warn('packages.install_failed', { error }));
      return job;
    },

    async [Symbol.asyncDispose](): Promise<void> {
      const all = [...running.values()];
      for (const { stop } of all) stop.abort(new WorkcrateError('stopping', 'The server is stopping.'));
      await Promise.allSettled(all.map(({ done }) => done));
    },
  };
}

const stillRunning = Symbol('still running');

function startPatience(ms: number | null) {
  const { promise: over, resolve } = Promise.withResolvers<typeof stillRunning>();
  const timer = ms === null ? undefined : setTimeout(() => resolve(stillRunning), ms);
  return { over, [Symbol.dispose]: () => clearTimeout(timer) };
}

const tooManyInstallsError = (): WorkcrateError =>
  new WorkcrateError(
    'sandbox_busy',
    `${maxOfUser} installs of yours are waiting already. They are done one after the other: wait for them, and name several packages in one call.`,
  );
