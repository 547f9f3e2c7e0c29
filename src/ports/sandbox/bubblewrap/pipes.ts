/** The server's ends of the pipes of a run. Node cannot make pipes, so it opens those that the fork server has made. */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { getErrno } from '../../../platform/errors.ts';

export interface WorkerPipes {
  readonly task: PipeWriter;
  readonly stdin: PipeWriter;
  readonly stdout: PipeReader;
  readonly stderr: PipeReader;
  readonly status: PipeReader;
  readonly report: PipeReader;
}

/** The input of a pipe. */
export interface PipeWriter {
  write(text: string): void;
  /** Writes the last of it, and closes the pipe once it is written. */
  end(text: string): void;
  close(): void;
}

/** The output of a pipe. A chunk is valid until the next one is asked for; to stop reading closes the pipe. */
export interface PipeReader {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** There is no writer left: reads what is in the pipe, and nothing after it. */
  end(): void;
  close(): void;
}

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * Opens the pipes of a process by their numbers. Node cannot make a pipe: it gives its children sockets, and those cannot
 * be opened again as /dev/stdin and /dev/stderr.
 */
export function openWorkerPipes(pid: number, numbers: readonly number[]): WorkerPipes {
  const path = (at: number): string => `/proc/${pid}/fd/${numbers[at]}`;
  return {
    task: openPipeWriter(path(0)),
    stdin: openPipeWriter(path(1)),
    stdout: openPipeReader(path(2), outputChunkBytes),
    stderr: openPipeReader(path(3), outputChunkBytes),
    status: openPipeReader(path(4), statusChunkBytes),
    report: openPipeReader(path(5), outputChunkBytes),
  };
}

/** Nearly all that is written fits into the pipe at once, and a socket costs more than the write. */
function openPipeWriter(path: string): PipeWriter {
  let fd: number | null = openSync(path, O_WRONLY | O_NONBLOCK);
  /** For what did not fit, and all that comes after it. */
  let socket: Socket | null = null;

  const write = (text: string): void => {
    if (socket !== null) return void socket.write(text);
    if (fd === null) return;
    const bytes = Buffer.from(text);
    const written = writeWhatFits(fd, bytes);
    if (written === bytes.length) return;
    socket = new Socket({ fd, readable: false, writable: true });
    fd = null;
    // A run that ends without reading its input is no failure.
    socket.on('error', () => {}).write(bytes.subarray(written));
  };
  const close = (): void => {
    socket?.destroy();
    if (fd !== null) closeSync(fd);
    fd = null;
  };
  return {
    write,
    end(text) {
      if (text !== '') write(text);
      if (socket === null) close();
      else socket.end();
    },
    close,
  };
}

function writeWhatFits(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if (getErrno(error) === 'EAGAIN') return 0;
    // Nobody reads it any more.
    if (getErrno(error) === 'EPIPE') return bytes.length;
    throw error;
  }
}

const outputChunkBytes = 64 * 1024;
const statusChunkBytes = 1024;
const maxInPipe = 1024 ** 2;
const pipeSilentMs = 200;

/** Reads into one buffer again and again: a new one for each chunk of a gigabyte would make the process large. */
function openPipeReader(path: string, chunkBytes: number): PipeReader {
  let buffer: Buffer | null = null;
  /** Whether the reader has taken the last chunk; until then, silence says nothing about the pipe. */
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
  const onEnd = (): void => arrived.resolve(null);
  socket.on('error', onEnd).on('end', onEnd).on('close', onEnd);

  /** How many bytes may still come after `end`; a full pipe is less. */
  let left = Number.POSITIVE_INFINITY;
  let silence: NodeJS.Timeout | undefined;
  let lastLook: NodeJS.Immediate | undefined;
  /** Not in the timer itself: on a busy machine it may fire before the pipe has been read. */
  const endAfterLook = (): void => void (lastLook = setImmediate(() => socket.destroy()));
  const endWhenSilent = (): void => {
    if (isTaken && Number.isFinite(left)) silence = setTimeout(endAfterLook, pipeSilentMs).unref();
  };

  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
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
    } finally {
      // Whoever stops reading leaves nobody to wait for: who writes is told so.
      socket.destroy();
    }
  }
  return {
    chunks: chunks(),
    end() {
      left = maxInPipe;
      endWhenSilent();
    },
    close: () => void socket.destroy(),
  };
}
