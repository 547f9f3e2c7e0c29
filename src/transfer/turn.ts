import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The socket once this response may write to it: a pipelined response waits until those before it are
 * done. Null if the connection ended first. Await it before opening anything, or one client could hold
 * as many objects open as it can pipeline requests.
 */
export function socketInTurn(res: ServerResponse): Socket | null | Promise<Socket | null> {
  if (res.destroyed) return null;
  if (res.socket !== null) return res.socket.destroyed ? null : res.socket;
  return new Promise((resolve) => {
    const settle = () => {
      res.off('socket', settle).off('close', settle);
      resolve(res.socket);
    };
    res.once('socket', settle).once('close', settle);
  });
}
