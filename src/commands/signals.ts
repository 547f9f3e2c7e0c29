/**
 * What SIGINT and SIGTERM do: they end a server gracefully, and cancel a command that ends by itself.
 */
import { WorkcrateError } from '../errors.ts';

/** One Ctrl-C can come twice, from the terminal and from npm; a person takes longer to press it again. */
const sameSignalMs = 1000;

/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export async function waitForStopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
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
