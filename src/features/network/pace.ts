/**
 * Keeps one run from taking all the time of this process, which serves everybody: requests and small pieces of data are
 * let through at a pace. Large pieces cost little for each byte, and are not slowed down.
 */
import type { Readable, Writable } from 'node:stream';

/** Counts some units of work, and says how many milliseconds the next one has to wait. */
export type TrafficPace = (units?: number) => number;

/** So many units in a second; after a rest, all those of one second at once. */
export function limitPace(
  unitsPerSecond: number,
  clock: () => number = () => performance.now(),
): TrafficPace {
  const unitMs = 1000 / unitsPerSecond;
  let free = -Infinity;
  return (units = 1) => {
    const now = clock();
    free = Math.max(free, now - 1000) + units * unitMs;
    return Math.max(0, free - now);
  };
}

const smallBytes = 4096;
/** Timers are not finer than this, and many small waits are one. */
const minWaitMs = 5;

/** What a small piece costs: one that the parser cut out of many, or one that had to be read from a socket. */
export const pieceUnits = { parsed: 1, read: 10 } as const;

/** How long to wait after a piece of data, in milliseconds; mostly not at all. */
export function findWait(pace: TrafficPace, units: number, bytes: number): number {
  if (bytes >= smallBytes) return 0;
  const waitMs = pace(units);
  return waitMs < minWaitMs ? 0 : waitMs;
}

/**
 * Sends everything from one stream to another, with backpressure, and its end. Small pieces that come together go on
 * together, and wait where there are too many of them. Errors are for others to see.
 */
export function pump(from: Readable, to: Writable, pace: TrafficPace, units: number): void {
  let isCorked = false;
  const uncork = (): void => {
    isCorked = false;
    to.uncork();
  };
  const resume = (): void => void from.resume();
  from.on('data', (chunk: Buffer) => {
    const isSmall = chunk.length < smallBytes;
    if (isSmall && !isCorked) {
      isCorked = true;
      to.cork();
      process.nextTick(uncork);
    }
    const hasRoom = to.write(chunk);
    const waitMs = findWait(pace, units, chunk.length);
    if (hasRoom && waitMs === 0) return;
    from.pause();
    if (hasRoom) setTimeout(resume, waitMs);
    else to.once('drain', resume);
  });
  from.once('end', () => void to.end());
  // Somebody may have stopped it before.
  from.resume();
}
