import { createFairQueue, type FairQueue } from '../concurrency/fair-queue.ts';
import { WorkcrateError } from '../errors.ts';
import type { SandboxOptions } from './sandbox.ts';

type RunPlaces = Pick<SandboxOptions, 'mostRuns' | 'mostRunsOfUser'>;

/** The fair queue of runs. */
export const runQueue = ({ mostRuns, mostRunsOfUser }: RunPlaces): FairQueue =>
  createFairQueue({
    most: mostRuns,
    mostOfUser: mostRunsOfUser,
    refusals: { busy: sandboxBusy, cancelled: runCancelled, closed: sandboxClosed },
  });

function runCancelled(): WorkcrateError {
  return new WorkcrateError('cancelled', 'The run was cancelled before it began.');
}

export function sandboxClosed(): WorkcrateError {
  return new WorkcrateError('sandbox_unavailable', 'The sandbox is closed, since the server is stopping.');
}

function sandboxBusy(running: number, queued: number): WorkcrateError {
  return new WorkcrateError(
    'sandbox_busy',
    `Too many runs are waiting. Of yours, ${running} are running and ${queued} are waiting. Try again later.`,
    { details: { running, queued } },
  );
}
