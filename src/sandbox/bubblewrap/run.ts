import type { EndReason, Limits, Run, RunEnd, RunRequest } from '../sandbox.ts';
import { signalName } from '../signals.ts';
import { stopping, type StopReason } from '../stopping.ts';
import type { WatchedDisk } from '../disk.ts';
import type { Taken } from './pool.ts';
import type { Outcome } from './worker.ts';

/** Shorter runs cannot take much memory of the kernel, and need not pay for being watched. */
const watchAfterMs = 100;

/** Gives a worker its task, and sees to its end. `over` is called once nothing of it is alive. */
export function runOn(
  { worker, cell }: Taken,
  request: RunRequest,
  { limits, disk }: { limits: Limits; disk: WatchedDisk },
  over: () => void,
): Run {
  const started = performance.now();
  const stop = stopping({
    timeoutMs: request.timeoutMs,
    graceMs: limits.graceMs,
    signal: request.signal,
    term: () => cell.term(worker.id),
    kill() {
      // All of them: the init alone has to be given processor time to die and take the others along.
      worker.group?.kill();
      cell.kill(worker.id);
    },
  });
  const watch = disk.watch(request.place, () => stop.killNow('disk'));
  const longer = setTimeout(() => cell.watch(worker.id), watchAfterMs);
  worker.begin(request.workingDir, request.code, request.stdin);

  const finish = async (): Promise<RunEnd> => {
    const outcome = await worker.outcome;
    clearTimeout(longer);
    // An init that was killed could not see to the others, and its pipe closes before the kernel does that.
    if (outcome === null) await cell.gone(worker.id);
    stop[Symbol.dispose]();
    watch[Symbol.dispose]();
    worker.release();
    worker.endOutputs();
    const events =
      outcome?.code === 0 ? none : (worker.group?.events() ?? eventsWithoutGroup(outcome, limits));
    over();
    return {
      ...endOf(outcome, stop.reason, events),
      durationMs: Math.round((performance.now() - started) * 1000) / 1000,
    };
  };
  return { stdout: worker.stdout, stderr: worker.stderr, ended: finish() };
}

interface Events {
  readonly oomKilled: number;
  readonly pidsRefused: number;
}

/** Of a run that went well nobody asks. */
const none: Events = { oomKilled: 0, pidsRefused: 0 };

/** Where no cgroup counts refusals: who fails with all the processes it may have has run out of them. */
function eventsWithoutGroup(outcome: Outcome, { processes }: Limits): Events {
  const ranOut = outcome !== null && outcome.crowd + 1 >= processes;
  return { oomKilled: 0, pidsRefused: ranOut ? 1 : 0 };
}

function endOf(outcome: Outcome, stopped: StopReason | null, events: Events): Omit<RunEnd, 'durationMs'> {
  const code = outcome?.code ?? null;
  const exitCode = code !== null && code >= 0 ? code : null;
  const signal = code !== null && code < 0 ? signalName(-code) : null;
  const killed = code === null ? 'SIGKILL' : signal;
  const reason = stopped ?? (exitCode === 0 ? 'exit' : reasonOf(outcome, events));
  return { reason, exitCode, signal: reason === 'lost' ? null : killed };
}

/** A program that failed after it was refused memory or processes failed because of that. */
function reasonOf(outcome: Outcome, events: Events): EndReason {
  if (events.oomKilled > 0 || outcome?.kernelMemory === true) return 'oom';
  if (events.pidsRefused > 0) return 'pids';
  if (outcome === null) return 'lost';
  return outcome.code < 0 ? 'signal' : 'exit';
}
