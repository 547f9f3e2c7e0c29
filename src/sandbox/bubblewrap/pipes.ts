import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** The server's ends of the pipes of a run. */
export interface Ends {
  readonly task: Socket;
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly status: Socket;
}

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * Opens the pipes of a process by their numbers. Node has no way to make a pipe: what it gives its children
 * are sockets, and those cannot be opened again as /dev/stdin and /dev/stderr.
 */
export function openEnds(pid: number, numbers: readonly number[]): Ends {
  const path = (at: number): string => `/proc/${pid}/fd/${numbers[at]}`;
  return {
    task: writingEnd(path(0)),
    stdin: writingEnd(path(1)),
    stdout: readingEnd(path(2)),
    stderr: readingEnd(path(3)),
    status: readingEnd(path(4)),
  };
}

function readingEnd(path: string): Socket {
  return new Socket({ fd: openSync(path, O_RDONLY | O_NONBLOCK), readable: true, writable: false });
}

function writingEnd(path: string): Socket {
  const socket = new Socket({ fd: openSync(path, O_WRONLY | O_NONBLOCK), readable: false, writable: true });
  // A run that ends without reading what it is sent is no failure.
  return socket.on('error', () => {});
}
