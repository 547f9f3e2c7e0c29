/**
 * The calls of tools that are running, and the signals that end them: the listener stops them, and the factories of MCP
 * servers count them.
 */
import { WorkcrateError } from '../platform/errors.ts';

export type CallControl = ReturnType<typeof createCallControl>;

/** Shared by all factories of one process. */
export function createCallControl() {
  const stopping = new AbortController();
  const cutting = new AbortController();
  return {
    underWay: { calls: 0 },
    /** Fires when no more connections are taken. */
    stopping: stopping.signal,
    /** Fires when the time that a graceful shutdown leaves to calls is over. */
    cutting: cutting.signal,
    stop: () => stopping.abort(),
    cut: () => cutting.abort(new WorkcrateError('stopping', 'The server is stopping.')),
  };
}
