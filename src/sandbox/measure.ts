import { extname } from 'node:path';
import { runInSlices } from '../concurrency/yield.ts';
import type { Log } from '../log.ts';
import { createThread, type Thread } from '../threads/threads.ts';
import type { CountingMethods } from './counting-thread.ts';
import { countPlace, type PlaceSpace } from './place-space.ts';
import type { Place } from './sandbox.ts';

/** So many are counted in a few milliseconds. More are counted in a thread, so that nobody waits for it. */
const fewEntries = 1000;
const fewDescriptors = 1000;
const sliceMs = 2;
/** Where there was more, it is counted there at once for so long. */
const rememberMs = 10_000;

export interface Measuring {
  readonly withUnlinked: boolean;
  readonly signal: AbortSignal;
}

/** Measures what users' folders take. */
export interface Scales extends AsyncDisposable {
  measure(place: Place, measuring: Measuring): Promise<PlaceSpace>;
}

export function createScales(log: Log): Scales {
  const file = new URL(`./counting-thread${extname(import.meta.filename)}`, import.meta.url);
  const thread: Thread<CountingMethods> = createThread(file, null, log);
  const largeUntil = new Map<string, number>();
  return {
    async measure(place, { withUnlinked, signal }) {
      if (performance.now() >= (largeUntil.get(place.workspace) ?? 0)) {
        const few = { mostEntries: fewEntries, mostDescriptors: fewDescriptors };
        const quick = await countInSlices(countPlace({ place, withUnlinked, ...few }), signal);
        if (quick !== null) return quick;
        largeUntil.set(place.workspace, performance.now() + rememberMs);
      }
      return thread.call('count', { place, withUnlinked }, { signal });
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

/** Lets others do their work in between. */
export const countInSlices = <T>(steps: Generator<void, T>, signal: AbortSignal): Promise<T> =>
  runInSlices(steps, { sliceMs, stepsPerLook: 1, signal });
