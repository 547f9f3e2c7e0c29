/**
 * The door of this room: sends the body of an HTTP response from files, objects and memory, with backpressure, so that a
 * slow client holds one buffer at most. It does not choose status, headers or ranges (`core/links/download-response.ts` does),
 * and it receives nothing (`core/links/receive.ts` does).
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { awaitEndOfTurn, yieldToEventLoop } from '../concurrency/yield.ts';
import { ResponseClient, WriteBuffer } from './client.ts';
import {
  ClientGone,
  fillAtOnce,
  isAbort,
  objectTruncatedError,
  sendPooled,
  smallBufferBytes,
  wrongLengthError,
} from './reading.ts';

export { buffersInUse } from './reading.ts';

/** What is sent: an object that is open, such as a stored file. */
export interface ReadableObject {
  /** A chunk is valid only until the next one is asked for. */
  read(start: number, end: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** A file descriptor on the whole object, to read at any offset; null where there is none. */
  readonly descriptor: number | null;
}

/** The bytes of an open object from `start` to before `end`. */
export interface ObjectRange {
  readonly object: ReadableObject;
  readonly start: number;
  readonly end: number;
}

/** One stretch of a response body: bytes in memory, or a range of an open object. */
export type BodySegment = { readonly bytes: Uint8Array } | ObjectRange;

/** An object's range where the object has a descriptor. */
export interface FileRange {
  readonly file: number;
  readonly start: number;
  readonly end: number;
}

export interface SendOptions {
  /** The Content-Length in the headers. A body of another length breaks the connection. */
  readonly length: number;
  /** A client that reads nothing for this long is cut off; the default is 60,000. */
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

/**
 * Sends the segments as the body of a response on which `writeHead` has been called, and ends it. An object is no
 * longer used when the next segment is requested, so the iterable may close it then. A client that vanishes is not a
 * failure. An object that cannot be read is one, as is a body of the wrong length: the connection is cut first, so that
 * the client sees a broken transfer rather than a short one.
 */
export async function sendSegments(
  res: ServerResponse,
  segments: AsyncIterable<BodySegment> | Iterable<BodySegment>,
  options: SendOptions,
): Promise<Sent> {
  const turn = socketInTurn(res);
  const socket = turn instanceof Promise ? await turn : turn;
  if (socket === null) return { sent: 0, complete: false };
  const client = new ResponseClient(res, socket, options.idleMs ?? 60_000);
  const stopListening = onAbort(options.signal, client.drop);
  try {
    // Answers that are ready in one turn leave one after the other: a client that is woken for each of them, while the
    // next is still being made, costs more than a small answer itself.
    await awaitEndOfTurn();
    if (res.req.method === 'HEAD') await client.end(null);
    else await sendResponseBody(client, segments, options.length);
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

/**
 * The socket once this response may write to it: a pipelined response waits until those before it are done. Null if the
 * connection ended first. Await it before opening anything, or one client could keep as many objects open as it can
 * pipeline requests.
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

// Promises, `for await` and `using` are avoided for small files: they took a third of the time.

/** After this many bytes of one client the others get their turn. */
const turnBytes = 2 * 1024 * 1024;

/** What a segment counts for at least, since a tiny one costs time too. */
const minSegmentCost = 32 * 1024;

/** Sends each segment in the cheapest way there is for it, `promised` bytes in all, and ends the response. */
async function sendResponseBody(
  client: ResponseClient,
  segments: AsyncIterable<BodySegment> | Iterable<BodySegment>,
  promised: number,
): Promise<void> {
  const buffer = new WriteBuffer(client);
  let [left, turn] = [promised, turnBytes];
  try {
    await forEachInOrder(segments, (segment) => {
      left -= getSegmentLength(segment);
      // Before any byte too many: the client would read it as the next response.
      if (left < 0) throw wrongLengthError(promised);
      const pending = sendSegment(client, buffer, segment);
      turn -= Math.max(getSegmentLength(segment), minSegmentCost);
      if (turn > 0) return pending;
      turn = turnBytes;
      return Promise.resolve(pending).then(yieldToEventLoop);
    });
    if (left > 0) throw wrongLengthError(promised);
    await buffer.end();
  } finally {
    buffer.release();
  }
}

/** Awaits only where there is something to await: see above. */
async function forEachInOrder<T>(
  items: AsyncIterable<T> | Iterable<T>,
  act: (item: T) => void | Promise<void>,
) {
  if (!(Symbol.iterator in items)) {
    for await (const item of items) await act(item);
    return;
  }
  for (const item of items) {
    const pending = act(item);
    if (pending !== undefined) await pending;
  }
}

function sendSegment(
  client: ResponseClient,
  buffer: WriteBuffer,
  segment: BodySegment,
): void | Promise<void> {
  if ('bytes' in segment) return buffer.add(segment.bytes);
  const { object, start, end } = segment;
  if (object.descriptor === null) return sendStream(client, buffer, segment);
  const range = { file: object.descriptor, start, end };
  if (end - start <= smallBufferBytes) return sendSmall(buffer, range);
  return buffer.isEmpty ? sendPooled(client, range) : buffer.flush().then(() => sendPooled(client, range));
}

function sendSmall(buffer: WriteBuffer, range: FileRange): void | Promise<void> {
  const { file, start, end } = range;
  if (!buffer.hasSpace(end - start)) return buffer.flush().then(() => sendSmall(buffer, range));
  fillAtOnce(file, buffer.space(end - start), start);
}

/** For storage without descriptors. The read is aborted when the client goes away. */
async function sendStream(
  client: ResponseClient,
  buffer: WriteBuffer,
  { object, start, end }: ObjectRange,
): Promise<void> {
  using closing = client.closing();
  let left = end - start;
  for await (const chunk of object.read(start, end, closing.signal)) {
    left -= chunk.length;
    if (left < 0) throw wrongLengthError(end - start);
    await buffer.add(chunk);
  }
  client.demandPresence();
  if (left > 0) throw objectTruncatedError();
}

export function getSegmentLength(segment: BodySegment): number {
  return 'bytes' in segment ? segment.bytes.length : segment.end - segment.start;
}
