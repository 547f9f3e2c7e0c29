/**
 * The door of this room: sends the body of an HTTP response from files, objects and memory, with backpressure, so that a
 * slow client holds one buffer at most. It does not choose status, headers or ranges (`core/links/download-response.ts` does),
 * and it receives nothing (`core/links/receive.ts` does).
 */
import { read, readSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { awaitEndOfTurn, yieldToEventLoop } from '../concurrency/yield.ts';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { programName } from '../program.ts';

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

/** The client of one response, whose turn on the socket has come. */
class ResponseClient {
  /** Body bytes that the kernel has taken. */
  sent = 0;
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  readonly #idleMs: number;
  #headersGone = false;

  constructor(res: ServerResponse, socket: Socket, idleMs: number) {
    this.#res = res;
    this.#socket = socket;
    this.#idleMs = idleMs;
  }

  /** Ends the transfer in a way that no client takes for a complete one. */
  readonly drop = (): void => {
    this.#socket.destroy();
  };

  /** True once nothing more can reach it. */
  get gone(): boolean {
    return this.#socket.destroyed || !this.#socket.writable;
  }

  demandPresence(): void {
    if (this.gone) throw new ClientGone();
  }

  /** A signal that fires when the connection closes. */
  closing(): Disposable & { signal: AbortSignal } {
    const controller = new AbortController();
    const abort = () => controller.abort();
    this.#socket.once('close', abort);
    return { signal: controller.signal, [Symbol.dispose]: () => void this.#socket.off('close', abort) };
  }

  /**
   * Writes body bytes, and headers that have not been sent yet. Resolves when the bytes may be reused: this is the
   * backpressure of a transfer.
   */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#settled((done) => {
      this.#socket.cork();
      if (!this.#headersGone) this.#res.flushHeaders();
      this.#headersGone = true;
      this.#socket.write(bytes, done);
      this.#socket.uncork();
    });
    this.sent += bytes.length;
  }

  /** Ends the response, so that `finish` is emitted and the connection continues with the next request. */
  async end(bytes: Uint8Array | null): Promise<void> {
    await this.#settled((done) => (bytes === null ? this.#res.end(done) : this.#res.end(bytes, done)));
    this.sent += bytes?.length ?? 0;
  }

  #settled(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    this.demandPresence();
    return new Promise((resolve, reject) => {
      let watch: Disposable | null = null;
      start((error) => {
        watch?.[Symbol.dispose]();
        if (error) reject(new ClientGone());
        else resolve();
      });
      if (this.#socket.writableLength > 0) watch = watchIdle(this.#socket, this.#idleMs);
    });
  }
}

/** What Node keeps below a socket. Not public API, hence read here only and never assumed. */
interface Handle {
  readonly writeQueueSize?: number;
}

/** Destroys the socket once nothing has left the kernel's queue for a whole period. */
function watchIdle(socket: Socket, idleMs: number): Disposable {
  const queued = () => (socket as Socket & { _handle?: Handle | null })._handle?.writeQueueSize ?? 0;
  let before = queued();
  const timer = setTimeout(() => {
    const now = queued();
    if (now === before) return socket.destroy();
    before = now;
    return timer.refresh();
  }, idleMs);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** From this size on a write of its own costs less than the copy. */
const minOwnWrite = 16 * 1024;

/** Small stretches collected into one write: a ZIP of 100,000 files, or a small file with its headers. */
class WriteBuffer {
  readonly #client: ResponseClient;
  #buffer: PooledBuffer | null = null;
  #filled = 0;

  constructor(client: ResponseClient) {
    this.#client = client;
  }

  get isEmpty(): boolean {
    return this.#buffer === null;
  }

  hasSpace(length: number): boolean {
    return this.#filled + length <= smallBufferBytes;
  }

  /** Space for bytes for which there is some. The caller fills it before anything else is added. */
  space(length: number): Buffer {
    this.#buffer ??= takeSmall();
    this.#filled += length;
    return this.#buffer.bytes.subarray(this.#filled - length, this.#filled);
  }

  async add(bytes: Uint8Array): Promise<void> {
    const alone = bytes.length >= minOwnWrite;
    if (alone || !this.hasSpace(bytes.length)) await this.flush();
    if (alone) await this.#client.write(bytes);
    else this.space(bytes.length).set(bytes);
  }

  async flush(): Promise<void> {
    if (this.#buffer === null) return;
    await this.#client.write(this.#buffer.bytes.subarray(0, this.#filled));
    this.release();
  }

  /** Ends the response with what is left, in one write. */
  end(): Promise<void> {
    return this.#client.end(this.#buffer?.bytes.subarray(0, this.#filled) ?? null);
  }

  /** Gives the buffer back. Not while a write or a read is under way. */
  release(): void {
    this.#buffer?.[Symbol.dispose]();
    this.#buffer = null;
    this.#filled = 0;
  }
}

/** A buffer of a pool. Dispose of it only once no read and no write can touch it any more. */
interface PooledBuffer extends Disposable {
  readonly bytes: Buffer;
}

/** Buffers of one size, of which `kept` wait for the next transfer instead of being collected. */
class BufferPool {
  inUse = 0;
  readonly size: number;
  readonly #kept: number;
  readonly #idle: Buffer[] = [];

  constructor(size: number, kept: number) {
    this.size = size;
    this.#kept = kept;
  }

  take(): PooledBuffer {
    const bytes = this.#idle.pop() ?? Buffer.allocUnsafeSlow(this.size);
    this.inUse += 1;
    return { bytes, [Symbol.dispose]: () => this.#giveBack(bytes) };
  }

  #giveBack(bytes: Buffer): void {
    this.inUse -= 1;
    if (this.#idle.length < this.#kept) this.#idle.push(bytes);
  }
}

const small = new BufferPool(64 * 1024, 64);
const large = new BufferPool(1024 * 1024, 16);
/** Slow clients may use this many large buffers (24 MB); later clients get a small one. */
const maxLargeInUse = 24;

const smallBufferBytes = small.size;

function takeSmall(): PooledBuffer {
  return small.take();
}

/** A large buffer, or a small one where too many large ones are out. */
function takeLarge(): PooledBuffer {
  return large.inUse < maxLargeInUse ? large.take() : small.take();
}

/** The buffers that all transfers together use at this moment. */
export function buffersInUse(): { count: number; bytes: number } {
  const pools = [small, large];
  return {
    count: pools.reduce((sum, pool) => sum + pool.inUse, 0),
    bytes: pools.reduce((sum, pool) => sum + pool.inUse * pool.size, 0),
  };
}

/** A client that takes longer than this for a buffer would only keep a large one from others. */
const maxPromptMs = 100;

/** A file up to this size is read on this thread: from the page cache that costs less than to hand it to another. */
const maxReadAtOnce = 256 * 1024;

/**
 * Backpressure: reads and writes alternate, with one buffer at a time, so that a slow client uses no more than that.
 */
async function sendPooled(client: ResponseClient, { file, start, end }: FileRange): Promise<void> {
  for (let at = start, isPrompt = true; at < end;) {
    using buffer = isPrompt ? takeLarge() : takeSmall();
    const bytes = buffer.bytes.subarray(0, Math.min(end - at, buffer.bytes.length));
    if (end - start <= maxReadAtOnce) fillAtOnce(file, bytes, at);
    else await fillInBackground(file, bytes, at);
    const began = performance.now();
    await client.write(bytes);
    isPrompt = performance.now() - began < maxPromptMs;
    at += bytes.length;
  }
}

/** Through the thread pool, so that a slow disk does not hold up other clients. A file that ends early is a failure. */
async function fillInBackground(file: number, into: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < into.length;) {
    const got = await readDescriptorOnce(file, into, filled, position + filled);
    if (got === 0) throw objectTruncatedError();
    filled += got;
  }
}

function readDescriptorOnce(file: number, into: Buffer, offset: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, into, offset, into.length - offset, position, (error, got) =>
      error ? reject(objectUnreadableError(error)) : resolve(got),
    );
  });
}

/** The same on this thread. */
function fillAtOnce(file: number, into: Buffer, position: number): void {
  for (let filled = 0; filled < into.length;) {
    const got = readOnceNow(file, into, filled, position + filled);
    if (got === 0) throw objectTruncatedError();
    filled += got;
  }
}

function readOnceNow(file: number, into: Buffer, offset: number, position: number): number {
  try {
    return readSync(file, into, offset, into.length - offset, position);
  } catch (error) {
    throw objectUnreadableError(error);
  }
}

/** Thrown inside this room to end a transfer whose client went away; it never leaves the room. */
class ClientGone extends Error {}

function objectTruncatedError(): WorkcrateError {
  return new WorkcrateError(
    'storage_failed',
    `A stored object is shorter than it was when the download began; run ${programName} check --read-data.`,
  );
}

function objectUnreadableError(cause: unknown): WorkcrateError {
  return new WorkcrateError('storage_failed', 'A stored object could not be read; see the cause.', { cause });
}

function wrongLengthError(promised: number): WorkcrateError {
  return new WorkcrateError('internal', 'A response body was not of the Content-Length that was promised.', {
    details: { promised },
  });
}

/** Whether a read ended because its signal was aborted. */
function isAbort(error: unknown): boolean {
  return isWorkcrateError(error, 'cancelled') || (error instanceof Error && error.name === 'AbortError');
}
