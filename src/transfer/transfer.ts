import type { ServerResponse } from 'node:http';
import { Client, isPlainTcp } from './client.ts';
import { ClientGone, isAbort } from './failures.ts';
import { sendfileCall } from './sendfile.ts';
import type { Segment } from './segment.ts';
import { sendBody } from './body.ts';
import { socketInTurn } from './turn.ts';

export { buffersInUse } from './buffers.ts';
export type { ObjectRange, Segment } from './segment.ts';
export { socketInTurn } from './turn.ts';

export interface SendOptions {
  /** The Content-Length in the headers. A body of another length breaks the connection. */
  readonly length: number;
  /** False keeps every read off this thread and out of the kernel's sendfile, for disks that stall. */
  readonly sendfile?: boolean | undefined;
  /** A client that takes nothing for so long is cut off; 60,000 unless told. */
  readonly idleMs?: number | undefined;
  /** Cuts the transfer off. */
  readonly signal?: AbortSignal | undefined;
}

export interface Sent {
  /** Body bytes that the kernel has taken. */
  readonly sent: number;
  /** False if the client went away, stalled, or was cut off by the signal. */
  readonly complete: boolean;
}

/** Whether this process can use sendfile(2), for `workcrate doctor`. */
export function sendfileAvailable(): boolean {
  return sendfileCall() !== null;
}

/**
 * Sends the segments as the body of a response on which `writeHead` has been called, and ends it. An object
 * is done with when the next segment is asked for, so the iterable may close it then.
 *
 * A client that vanishes is no failure. What cannot be read is, as is a body of the wrong length: the
 * connection is cut first, so that the client sees a broken transfer rather than a short one.
 */
export async function sendSegments(
  res: ServerResponse,
  segments: AsyncIterable<Segment> | Iterable<Segment>,
  options: SendOptions,
): Promise<Sent> {
  const turn = socketInTurn(res);
  const socket = turn instanceof Promise ? await turn : turn;
  if (socket === null) return { sent: 0, complete: false };
  const client = new Client(res, socket, options.idleMs ?? 60_000);
  const sendfile = options.sendfile === false || !isPlainTcp(socket) ? null : sendfileCall();
  const stopListening = onAbort(options.signal, client.drop);
  try {
    if (res.req.method === 'HEAD') await client.end(null);
    else await sendBody(client, segments, sendfile, options.length);
    return { sent: client.sent, complete: true };
  } catch (error) {
    const left = error instanceof ClientGone || (client.gone && isAbort(error));
    client.drop();
    if (left) return { sent: client.sent, complete: false };
    throw error;
  } finally {
    stopListening?.();
  }
}

function onAbort(signal: AbortSignal | undefined, act: () => void): (() => void) | null {
  if (signal === undefined) return null;
  if (signal.aborted) act();
  signal.addEventListener('abort', act);
  return () => signal.removeEventListener('abort', act);
}
