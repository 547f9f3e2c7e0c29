import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { unreachable } from './failures.ts';

/** One call of the library with all its requests. */
export interface Errand {
  /** Apart from all others, so that they take turns. */
  readonly name: string;
  /** Fires when the caller's does, or when the time of the errand is over. */
  readonly signal: AbortSignal;
  /** By the clock, in milliseconds. */
  readonly endsAt: number;
  /** Counts what answers take, whose sum is bounded. */
  spend(bytes: number): void;
}

/** What all answers of an errand may take; they are not held all at once. */
const mostBytes = 128 * 1024 ** 2;

let errands = 0;

export async function runErrand<T>(
  { totalMs, clock }: { readonly totalMs: number; readonly clock: Clock },
  signal: AbortSignal,
  work: (errand: Errand) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const stop = new AbortController();
  const timer = setTimeout(
    () => stop.abort(unreachable(`it took longer than ${totalMs} ms in all`)),
    totalMs,
  );
  let left = mostBytes;
  const spend = (bytes: number): void => {
    left -= bytes;
    if (left < 0) throw unreachable(`its answers are longer than ${mostBytes} bytes in all`);
  };
  try {
    return await work({
      name: String(errands++),
      signal: AbortSignal.any([signal, stop.signal]),
      endsAt: clock() + totalMs,
      spend,
    });
  } finally {
    clearTimeout(timer);
    // Requests of it that are still under way, since one beside them failed, end too.
    stop.abort();
  }
}

/** Fails with the reason of the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
}
