import { type PooledBuffer, SMALL_BUFFER, takeSmall } from './buffers.ts';
import type { Client } from './client.ts';

/** From this size on a write of its own costs less than the copy. */
const WORTH_A_WRITE = 16 * 1024;

/** Small stretches collected into one write: a ZIP of 100,000 files, or a small file with its headers. */
export class Gather {
  readonly #client: Client;
  #buffer: PooledBuffer | null = null;
  #filled = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  get isEmpty(): boolean {
    return this.#buffer === null;
  }

  hasSpace(length: number): boolean {
    return this.#filled + length <= SMALL_BUFFER;
  }

  /** Space for bytes for which there is some. The caller fills it before anything else is added. */
  space(length: number): Buffer {
    this.#buffer ??= takeSmall();
    this.#filled += length;
    return this.#buffer.bytes.subarray(this.#filled - length, this.#filled);
  }

  async add(bytes: Uint8Array): Promise<void> {
    const alone = bytes.length >= WORTH_A_WRITE;
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
