/**
 * What signals do: SIGINT and SIGTERM end a server gracefully, and cancel a command that ends by itself. SIGHUP ends what
 * belongs to a terminal or to a client, and a service goes on.
 */
import { WorkcrateError } from '../errors.ts';
import type { Log } from '../observability/log.ts';

/** One Ctrl-C can come twice, from the terminal and from npm; a person takes longer to press it again. */
const sameSignalMs = 1000;

/** Whether there is a terminal that can be closed. Who starts a server with nohup has none. */
export const hasTerminal = (): boolean => process.stdin.isTTY || process.stdout.isTTY;

/** For a service: what rotates logs sends SIGHUP, and so does `docker kill -s HUP`. It goes on, also while it starts. */
export function ignoreHangup(log: Log): void {
  process.on('SIGHUP', () =>
    log.info('signal.ignored', { signal: 'SIGHUP', reason: 'there is no terminal that was closed' }),
  );
}

/** Resolves at the first signal to stop. A second one ends the process at once. */
export async function waitForStopSignal(
  signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'],
): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  for (const signal of signals)
    process.once(signal, () => {
      // A terminal that was closed takes no more lines.
      if (signal === 'SIGHUP')
        for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
      const first = performance.now();
      process.on(signal, () => performance.now() - first < sameSignalMs || process.exit(1));
      resolve(signal);
    });
  return promise;
}

/** A signal that fires at the first SIGINT or SIGTERM, for commands that end by themselves. */
export function createInterruptSignal(): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const abort = (): void => stop.abort(new WorkcrateError('cancelled', 'It was cancelled.'));
  process.once('SIGINT', abort).once('SIGTERM', abort);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', abort).off('SIGTERM', abort),
  };
}
