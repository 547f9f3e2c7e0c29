/**
 * Graceful shutdown, in three steps: `/readyz` says that the server is not ready, so that load balancers send nothing
 * new; then it refuses new connections and new runs; then transfers, tool calls, and runs and installs that go on without
 * a call get `--drain-timeout` seconds to finish, and calls that are left are cancelled. Signals are handled in
 * `cli/`, open connections are closed in `listen.ts`, and runs that are left are cancelled by their room.
 */
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../platform/errors.ts';
import type { Log } from '../platform/observability/log.ts';

/** How much of each kind is running that should not be interrupted. A run with a call is counted with both. */
export interface UnderWay {
  readonly transfers: number;
  readonly calls: number;
  readonly runs: number;
  readonly installs: number;
}

export interface ShutdownOptions {
  readonly underWay: () => UnderWay;
  /** How long the server goes on as before, but reports that it is not ready. */
  readonly delayMs: number;
  /** How long what is under way gets to finish. */
  readonly drainMs: number;
  /** Called once new connections are refused. */
  readonly closed: () => void;
  /** Called when the time is over and calls are still running: cancels them. */
  readonly cut: () => void;
  readonly log: Log;
}

/** How long cancelled calls get to end, so that their callers get an answer. */
const cancelledCallsMs = 1000;
const pollMs = 25;
/** How often the log says what is still waited for. */
const logMs = 10_000;

const isIdle = (underWay: UnderWay): boolean => Object.values(underWay).every((count) => count === 0);

/** A graceful shutdown that has not begun yet. */
export function createShutdown({ underWay, delayMs, drainMs, closed, cut, log }: ShutdownOptions) {
  let drained: Promise<void> | null = null;

  async function drain(server: Server): Promise<void> {
    await pause(delayMs);
    server.close();
    closed();
    const until = performance.now() + drainMs;
    while (!isIdle(underWay()) && performance.now() < until) {
      const left = until - performance.now();
      log.info('stopping.waiting', { ...underWay(), seconds_left: Math.ceil(left / 1000) });
      await waitUntil(server, () => isIdle(underWay()), Math.min(left, logMs));
    }
    if (!isIdle(underWay())) log.warn('stopping.cut', { ...underWay() });
    if (underWay().calls > 0) {
      cut();
      await waitUntil(server, () => underWay().calls === 0, cancelledCallsMs);
    }
    // The answer of the last call still has to be sent.
    await pause(pollMs);
  }

  async function waitUntil(server: Server, isSo: () => boolean, mostMs: number): Promise<void> {
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
