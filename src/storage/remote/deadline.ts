import { timedOut } from './client.ts';

/** Does the work with a signal that fires when the given one does, or when the time is over. */
export async function limited<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(timedOut(`not done within ${Math.round(ms)} ms`)), ms);
  try {
    return await work(signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]));
  } finally {
    clearTimeout(timer);
  }
}
