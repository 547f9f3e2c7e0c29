/**
 * Graceful shutdown, in three steps: `/readyz` says that the server is not ready, so that load balancers send nothing
 * new; then it refuses new connections; then transfers and tool calls get `--drain-timeout` seconds to finish, and
 * calls that are left are cancelled. Signals are handled in `commands/`, open connections are closed in `listen.ts`.
 */
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../errors.ts';

export interface ShutdownOptions {
  /** How much of what must not be cut off is under way: transfers and calls of tools. */
  readonly busy: () => number;
  /** How long it goes on as before, but for telling that it is not ready. */
  readonly delayMs: number;
  /** How long what is under way gets to end. */
  readonly drainMs: number;
  /** Called once no more connections are taken. */
  readonly closed: () => void;
  /** How many calls of tools are under way. */
  readonly calls: () => number;
  /** Called when the time is up and calls are under way still: ends them. */
  readonly cut: () => void;
}

/** How long calls that are cut get to end, so that their callers are answered. */
const cancelledCallsMs = 1000;
const pollMs = 25;

/**
 * The way to a stop: first the server tells that it is not ready, so that a balancer sends nothing new; then it takes no
 * more connections and lets what is under way come to its end.
 */
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
    // What ended last has its answer still to be sent.
    await pause(pollMs);
  }

  async function until(server: Server, isSo: () => boolean, mostMs: number): Promise<void> {
    const end = performance.now() + mostMs;
    // A connection that falls idle would otherwise be kept alive, and bring more.
    while (!isSo() && performance.now() < end) {
      server.closeIdleConnections();
      await pause(pollMs);
    }
  }

  return {
    /** Rejects once the server is on its way to a stop. */
    async demandGoingOn(): Promise<void> {
      if (drained === null) return;
      throw new WorkcrateError('stopping', 'The server is stopping. Use another, or try again in a moment.');
    },
    /** Whether it is on its way to a stop. */
    get begun(): boolean {
      return drained !== null;
    },
    /** Resolves when nothing is under way any more, or the time for it is up. */
    drain: (server: Server): Promise<void> => (drained ??= drain(server)),
  };
}
