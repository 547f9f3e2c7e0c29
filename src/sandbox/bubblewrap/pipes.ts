import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** The server's ends of the pipes of a run. */
export interface Ends {
  readonly task: Socket;
  readonly stdin: Socket;
  readonly stdout: Reading;
  readonly stderr: Reading;
  readonly status: Reading;
}

/** What comes out of a pipe. A chunk is good until the next one is asked for. */
export interface Reading {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Nobody who may write is left: what is in the pipe still comes, and nothing after it. */
  end(): void;
  close(): void;
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
    stdout: readingEnd(path(2), outputBytes),
    stderr: readingEnd(path(3), outputBytes),
    status: readingEnd(path(4), statusBytes),
  };
}

function writingEnd(path: string): Socket {
  const socket = new Socket({ fd: openSync(path, O_WRONLY | O_NONBLOCK), readable: false, writable: true });
  // A run that ends without reading what it is sent is no failure.
  return socket.on('error', () => {});
}

const outputBytes = 64 * 1024;
const statusBytes = 1024;
const mostInPipe = 1024 ** 2;
const silentMs = 200;

/** Reads into one buffer again and again: a fresh one for each chunk of a gigabyte makes the process large. */
function readingEnd(path: string, chunkBytes: number): Reading {
  let buffer: Buffer | null = null;
  /** Whether the reader has had the last chunk; until it has, silence says nothing about the pipe. */
  let isTaken = true;
  let arrived = Promise.withResolvers<Uint8Array | null>();
  const socket = new Socket({
    fd: openSync(path, O_RDONLY | O_NONBLOCK),
    readable: true,
    writable: false,
    onread: {
      buffer: () => (buffer ??= Buffer.allocUnsafeSlow(chunkBytes)),
      callback(length, bytes) {
        isTaken = false;
        arrived.resolve(bytes.subarray(0, length));
        return false;
      },
    },
  });
  const over = (): void => arrived.resolve(null);
  socket.on('error', over).on('end', over).on('close', over);

  /** How much may still come once it is to end; a full pipe is less. */
  let left = Number.POSITIVE_INFINITY;
  let silence: NodeJS.Timeout | undefined;
  let lastLook: NodeJS.Immediate | undefined;
  /** Not in the timer: on a busy machine that may come before a look at what is in the pipe. */
  const endAfterLook = (): void => void (lastLook = setImmediate(() => socket.destroy()));
  const endWhenSilent = (): void => {
    if (isTaken && Number.isFinite(left)) silence = setTimeout(endAfterLook, silentMs).unref();
  };

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let next = await arrived.promise; next !== null; next = await arrived.promise) {
      clearTimeout(silence);
      clearImmediate(lastLook);
      arrived = Promise.withResolvers();
      left -= next.length;
      yield next;
      isTaken = true;
      if (left < 0) socket.destroy();
      if (socket.destroyed || socket.readableEnded) return;
      socket.resume();
      endWhenSilent();
    }
  }
  return {
    chunks: chunks(),
    end() {
      left = mostInPipe;
      endWhenSilent();
    },
    close: () => void socket.destroy(),
  };
}
