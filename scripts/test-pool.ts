import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** How many jobs there are at a time, whatever the processors have to do. */
export interface PoolBounds {
  readonly least: number;
  readonly most: number;
}

/**
 * Some test files compute and others wait, for servers and timers. A fixed number at a time leaves the processors idle
 * at times and overloads them at others: so another one starts whenever they have time to spare.
 */
export const usualBounds: PoolBounds = {
  least: 2 * availableParallelism(),
  most: 4 * availableParallelism(),
};

/** A job that starts loads for a moment, so its share is known only after this. */
const lookEveryMs = 500;
const busyEnough = 0.85;

/** Runs all jobs, in their order, and gives once all have ended. */
export async function runPool(
  jobs: readonly (() => Promise<void>)[],
  { least, most }: PoolBounds = usualBounds,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let since = readBusyMs();
  for (const job of jobs) {
    while (running.size >= least) {
      if (running.size >= most) await Promise.race(running);
      await sleep(lookEveryMs);
      const now = readBusyMs();
      const share = (now.busyMs - since.busyMs) / (now.atMs - since.atMs) / availableParallelism();
      since = now;
      if (running.size < most && share < busyEnough) break;
    }
    const one = job().finally(() => running.delete(one));
    running.add(one);
  }
  await Promise.all(running);
}

function readBusyMs(): { busyMs: number; atMs: number } {
  const busyMs = cpus()
    .map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq)
    .reduce((sum, ms) => sum + ms, 0);
  return { busyMs, atMs: performance.now() };
}
