/**
 * Receives from a socket into one buffer, again and again, and sends it on: half the work of a new buffer for each
 * piece, as streams have it (decision 049). It is for tunnels, through which large amounts go.
 */
import { Socket, type OnReadOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { findWait, pieceUnits, type TrafficPace } from './pace.ts';

export interface Inlet {
  /** For the socket, when it is made. */
  readonly onread: OnReadOpts;
  /** From now on everything that the socket receives goes there, and its end; until then nothing is read. */
  pump(from: Socket, to: Duplex, pace: TrafficPace): void;
}

/** More than streams read at once, and still in the processor's cache when it is written. */
const inletBytes = 256 * 1024;

export function createInlet(): Inlet {
  let take: ((chunk: Buffer) => boolean) | null = null;
  let early: Buffer | null = null;
  return {
    onread: {
      buffer: Buffer.allocUnsafeSlow(inletBytes),
      callback(length, { buffer, byteOffset }) {
        const chunk = Buffer.from(buffer, byteOffset, length);
        if (take !== null) return take(chunk);
        early = Buffer.from(chunk);
        return false;
      },
    },
    pump(from, to, pace) {
      const resume = (): void => void from.resume();
      take = createTake(to, pace, resume);
      from.once('end', () => void to.end());
      if (early !== null) to.write(early);
      resume();
    },
  };
}

/** Whether the next piece may come at once; otherwise `resume` is called when it may. */
function createTake(to: Duplex, pace: TrafficPace, resume: () => void): (chunk: Buffer) => boolean {
  // Of other streams nobody knows when they are done with the bytes that they were given.
  const mustCopy = !(to instanceof Socket) || to instanceof TLSSocket;
  return (chunk) => {
    const hasRoom = to.write(mustCopy ? Buffer.from(chunk) : chunk);
    const isDone = mustCopy ? hasRoom : to.writableLength === 0;
    const waitMs = findWait(pace, pieceUnits.read, chunk.length);
    if (isDone && waitMs === 0) return true;
    if (isDone) setTimeout(resume, waitMs);
    else if (!hasRoom) to.once('drain', resume);
    // It is below the mark of the stream, but the system has not taken all of it.
    else to.write(noBytes, resume);
    return false;
  };
}

const noBytes = Buffer.alloc(0);
