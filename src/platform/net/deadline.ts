/**
 * Gives work a time limit, on top of the signal that its caller may have. The work has to heed the signal that it is
 * given: nothing here can stop one that does not.
 */

/** The given signal and the deadline are one signal to `work`, which aborts with `timedOut(ms)` as its reason. */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  timedOut: (ms: number) => Error = notDoneWithin,
): Promise<T> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(timedOut(ms)), ms);
  try {
    return await work(signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]));
  } finally {
    clearTimeout(timer);
  }
}

const notDoneWithin = (ms: number): Error => createTimeoutError(`not done within ${Math.round(ms)} ms`);

/** With the code that the system gives such errors, so that they are handled alike. */
export const createTimeoutError = (message: string): Error =>
  Object.assign(new Error(message), { code: 'ETIMEDOUT' });
