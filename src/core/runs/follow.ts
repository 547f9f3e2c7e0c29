/**
 * Looks at a run, waits for its end and cancels it, wherever it runs: here by its live run, on another server of the
 * same database by its row. It answers nobody (`tools.ts` does).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../ports/database/database.ts';
import type { Caller } from '../identity.ts';
import type { CancelledBy, Execution } from './fields.ts';
import { requestCancel, type LiveRuns } from './live-runs.ts';
import type { OutputPart } from './output.ts';

export interface FollowOptions {
  readonly database: Database;
  readonly live: LiveRuns;
  /** The record of a run; it is asked for by that. */
  readonly get: (caller: Caller, id: string) => Promise<Execution>;
}

export interface Following {
  /** How long to wait for the end. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** A run, and where it is. */
export interface FollowedRun {
  readonly execution: Execution;
  /** Whether it is under way on another server, as far as is known. */
  readonly isElsewhere: boolean;
  /** What it printed, from an offset on; null where only its record has that. */
  readOutput(from: number, length: number): OutputPart | null;
}

export interface CancelledRun {
  readonly execution: Execution;
  /** Whether it had ended before. */
  readonly wasOver: boolean;
}

/** How often the row of a run on another server is looked at. */
const pollMs = 500;
/** SIGTERM, 5 s of grace, SIGKILL, and two seconds until another server knows. */
const cancelWaitMs = 12_000;
const never = new AbortController().signal;

export type Follower = ReturnType<typeof createFollower>;

export function createFollower({ database, live, get }: FollowOptions) {
  const notices = new WeakMap<Promise<unknown>, EndNotice>();

  /** Whether a run of this server has ended before the time is over, or nobody waits any more. */
  async function waitHere(ended: Promise<unknown>, { waitMs, signal }: Following): Promise<boolean> {
    const notice = notices.get(ended) ?? createEndNotice(ended);
    notices.set(ended, notice);
    if (notice.isOver) return true;
    const stop = new AbortController();
    const wake = (): void => stop.abort();
    notice.waiting.add(wake);
    signal.addEventListener('abort', wake);
    await waitUnlessStopped(waitMs, stop.signal);
    notice.waiting.delete(wake);
    signal.removeEventListener('abort', wake);
    return notice.isOver;
  }

  async function wait(caller: Caller, id: string, { waitMs, signal }: Following): Promise<Execution> {
    const until = performance.now() + waitMs;
    for (let execution = await get(caller, id); ; execution = await get(caller, id)) {
      const leftMs = until - performance.now();
      if (execution.reason !== 'running' || leftMs <= 0 || signal.aborted) return execution;
      const run = live.find(caller, id);
      if (run === null) await waitUnlessStopped(Math.min(pollMs, leftMs), signal);
      // As long as it runs its row stays as it is.
      else if (!(await waitHere(run.ended, { waitMs: leftMs, signal }))) return execution;
    }
  }

  return {
    /** Waits for the end of a run of the caller, at most so long. `not_found` where there is none. */
    async follow(caller: Caller, id: string, following: Following): Promise<FollowedRun> {
      const execution = await wait(caller, id, following);
      const isElsewhere =
        execution.reason === 'running' && database.isShared && live.find(caller, id) === null;
      return {
        execution,
        isElsewhere,
        readOutput: (from, length) => live.readOutput(caller, id, from, length),
      };
    },

    /** Ends a run of the caller, wherever it runs, and waits for that. `not_found` where there is none. */
    async cancel(caller: Caller, id: string, by: CancelledBy = 'cancel_execution'): Promise<CancelledRun> {
      const execution = await get(caller, id);
      if (execution.reason !== 'running') return { execution, wasOver: true };
      const run = live.find(caller, id);
      if (run === null) await requestCancel(database, { id }, by);
      else run.cancel(by);
      return {
        execution: await wait(caller, id, { waitMs: cancelWaitMs, signal: never }),
        wasOver: false,
      };
    },
  };
}

/** Who waits for the end of a run. */
interface EndNotice {
  readonly waiting: Set<() => void>;
  isOver: boolean;
}

/**
 * One for all who wait. The promise itself would keep something of each who asked until it settles: 100 pages that look
 * several times a second took 3 MB a second.
 */
function createEndNotice(ended: Promise<unknown>): EndNotice {
  const notice: EndNotice = { waiting: new Set(), isOver: false };
  const tell = (): void => {
    notice.isOver = true;
    for (const wake of notice.waiting) wake();
  };
  ended.then(tell, tell);
  return notice;
}

/** Resolves when the time is over, or nobody waits any more. */
async function waitUnlessStopped(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
