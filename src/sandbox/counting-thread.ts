import { createMutex } from '../concurrency/mutex.ts';
import { answerCalls } from '../workers/inside.ts';
import type { CallContext } from '../workers/workers.ts';
import { countInSlices, countPlace, type PlaceSpace } from './disk.ts';
import type { Place } from './sandbox.ts';

/** More than these count as too much: nobody could wait for it, and the server needs memory for each. */
const mostEntries = 5_000_000;
const mostDescriptors = 200_000;
const mostMs = 60_000;

const tooMuch: PlaceSpace = { bytes: Infinity, mayHideMore: false };

/** One after the other, so that memory and descriptors are taken once. */
const mutex = createMutex();

const methods = {
  count: (
    { place, withUnlinked }: { place: Place; withUnlinked: boolean },
    { signal }: CallContext,
  ): Promise<PlaceSpace> =>
    mutex.run(() => {
      signal.throwIfAborted();
      return count(place, withUnlinked, signal);
    }),
};

async function count(place: Place, withUnlinked: boolean, signal: AbortSignal): Promise<PlaceSpace> {
  const deadline = AbortSignal.timeout(mostMs);
  try {
    const steps = countPlace({ place, withUnlinked, mostEntries, mostDescriptors });
    return (await countInSlices(steps, AbortSignal.any([signal, deadline]))) ?? tooMuch;
  } catch (error) {
    if (deadline.aborted && !signal.aborted) return tooMuch;
    throw error;
  }
}

export type CountingMethods = typeof methods;

answerCalls(methods);
