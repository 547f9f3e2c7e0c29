import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ClientGone, smallBufferBytes, takeSmall, type PooledBuffer } from './reading.ts';

/** The client of one response, whose turn on the socket has come. */
export class ResponseClient {
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
export class WriteBuffer {
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
