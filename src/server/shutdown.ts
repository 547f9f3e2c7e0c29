/**
 * Graceful shutdown, in three steps: `/readyz` says that the server is not ready, so that load balancers send nothing
 * new; then it refuses new connections; then transfers and tool calls get `--drain-timeout` seconds to finish, and
 * calls that are left are cancelled. Signals are handled in `commands/`, open connections are closed in `listen.ts`.
 */
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../errors.ts';

export interface ShutdownOptions {
  /** How many transfers and tool calls are running, which should not be interrupted. */
  readonly busy: () => number;
  /** How long the server goes on as before, but reports that it is not ready. */
  readonly delayMs: number;
  /** How long running transfers and calls get to finish. */
  readonly drainMs: number;
  /** Called once new connections are refused. */
  readonly closed: () => void;
  /** How many tool calls are running. */
  readonly calls: () => number;
  /** Called when the time is over and calls are still running: cancels them. */
  readonly cut: () => void;
}

/** How long cancelled calls get to end, so that their callers get an answer. */
const cancelledCallsMs = 1000;
const pollMs = 25;

/** A graceful shutdown that has not begun yet. */
export function createShutdown({ busy, delayMs, drainMs, closed, calls, cut }: ShutdownOptions) {
  let drained: Promise<void> | null = null;

  async function drain(server: Server): Promise<void> {
    await pause(delayMs);
    server.close();
    closed();
    await until(server, () => busy() === 0, drainMs);
    if (calls() > 0) {
      cut();
      await until(server, () => calls() === 0, cancelledCallsMs);
    }
    // The answer of the last call still has to be sent.
    await pause(pollMs);
  }

  async function until(server: Server, isSo: () => boolean, mostMs: number): Promise<void> {
    const end = performance.now() + mostMs;
    // A connection that becomes idle would otherwise be kept alive and bring more requests.
    while (!isSo() && performance.now() < end) {
      server.closeIdleConnections();
      await pause(pollMs);
    }
  }

  return {
    /** Rejects with `stopping` once the shutdown has begun. */
    async demandGoingOn(): Promise<void> {
      if (drained === null) return;
      throw new WorkcrateError('stopping', 'The server is stopping. Use another, or try again in a moment.');
    },
    /** Whether the shutdown has begun. */
    get begun(): boolean {
      return drained !== null;
    },
    /** Begins the shutdown. Resolves when nothing is running any more, or the time is over. */
    drain: (server: Server): Promise<void> => (drained ??= drain(server)),
  };
}
