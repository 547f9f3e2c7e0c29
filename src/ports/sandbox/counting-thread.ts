import { createMutex } from '../../platform/concurrency/mutex.ts';
import { answerCalls } from '../../platform/workers/inside.ts';
import type { CallContext } from '../../platform/workers/workers.ts';
import { countInSlices, countWorkspace, type WorkspaceSpace } from './disk.ts';
import type { Workspace } from './sandbox.ts';

/** More than these count as too much: counting would take too long, and needs memory for each. */
const maxCountedEntries = 5_000_000;
const maxDescriptors = 200_000;
const maxCountingMs = 60_000;

const moreThanCountable: WorkspaceSpace = { bytes: Infinity, mayHideMore: false };

/** One at a time, so that memory and descriptors are needed only once. */
const mutex = createMutex();

const countingMethods = {
  count: (
    { place, withUnlinked }: { place: Workspace; withUnlinked: boolean },
    { signal }: CallContext,
  ): Promise<WorkspaceSpace> =>
    mutex.run(() => {
      signal.throwIfAborted();
      return countSpace(place, withUnlinked, signal);
    }),
};

async function countSpace(
  place: Workspace,
  withUnlinked: boolean,
  signal: AbortSignal,
): Promise<WorkspaceSpace> {
  const deadline = AbortSignal.timeout(maxCountingMs);
  try {
    const steps = countWorkspace({ place, withUnlinked, mostEntries: maxCountedEntries, maxDescriptors });
    return (await countInSlices(steps, AbortSignal.any([signal, deadline]))) ?? moreThanCountable;
  } catch (error) {
    if (deadline.aborted && !signal.aborted) return moreThanCountable;
    throw error;
  }
}

export type CountingMethods = typeof countingMethods;

answerCalls(countingMethods);
