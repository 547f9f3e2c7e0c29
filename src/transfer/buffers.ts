/** A buffer on loan. Dispose of it only once no read and no write can touch it any more. */
export interface PooledBuffer extends Disposable {
  readonly bytes: Buffer;
}

/** Buffers of one size, of which `kept` wait for the next transfer instead of being collected. */
class Pool {
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

const tiny = new Pool(4 * 1024, 256);
const small = new Pool(64 * 1024, 64);
const large = new Pool(1024 * 1024, 16);
/** Slow clients may hold this many large buffers (24 MB); whoever comes after them gets a small one. */
const LARGE_IN_USE = 24;

export const SMALL_BUFFER = small.size;

export function takeTiny(): PooledBuffer {
  return tiny.take();
}

export function takeSmall(): PooledBuffer {
  return small.take();
}

/** A large buffer, or a small one where too many large ones are out. */
export function takeLarge(): PooledBuffer {
  return large.inUse < LARGE_IN_USE ? large.take() : small.take();
}

/** What all transfers together hold at this moment. */
export function buffersInUse(): { count: number; bytes: number } {
  const pools = [tiny, small, large];
  return {
    count: pools.reduce((sum, pool) => sum + pool.inUse, 0),
    bytes: pools.reduce((sum, pool) => sum + pool.inUse * pool.size, 0),
  };
}
