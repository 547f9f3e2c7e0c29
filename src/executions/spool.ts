import { asWorkcrateError, type WorkcrateError } from '../errors.ts';
import type { StoredFile } from '../files/files.ts';

/** What became of an output that was too long to be shown. */
export interface Spooled {
  readonly file: StoredFile | null;
  /** Why there is no file. */
  readonly failure: WorkcrateError | null;
  /** Bytes that came after the most that is kept. */
  readonly dropped: number;
}

/** Bytes that may still be kept, for both outputs of a run together. */
export interface Budget {
  left: number;
}

export type Spool = ReturnType<typeof createSpool>;

const blockBytes = 512 * 1024;

/**
 * Hands bytes on to whoever keeps them, block by block: a writer waits until the block before was taken.
 * Chunks are copied, so that their memory is the writer's again. Where keeping fails, the writer goes on
 * and nothing more is kept.
 */
export function createSpool(keep: (bytes: AsyncIterable<Uint8Array>) => Promise<StoredFile>, budget: Budget) {
  let offered = Promise.withResolvers<Uint8Array | null>();
  let taken = Promise.withResolvers<void>();
  let over = false;
  let dropped = 0;
  let block = Buffer.allocUnsafeSlow(blockBytes);
  let filled = 0;

  async function* blocks(): AsyncGenerator<Uint8Array> {
    for (let next = await offered.promise; next !== null; next = await offered.promise) {
      offered = Promise.withResolvers();
      yield next;
      taken.resolve();
    }
  }

  const kept = keep(blocks())
    .then(
      (file) => ({ file, failure: null }),
      (error: unknown) => ({ file: null, failure: asWorkcrateError(error) }),
    )
    .finally(() => {
      over = true;
      taken.resolve();
    });

  async function handOver(): Promise<void> {
    const full = block.subarray(0, filled);
    filled = 0;
    if (over || full.length === 0) return;
    block = Buffer.allocUnsafeSlow(blockBytes);
    taken = Promise.withResolvers();
    offered.resolve(full);
    await taken.promise;
  }

  return {
    async write(chunk: Uint8Array): Promise<void> {
      const most = Math.min(chunk.length, budget.left);
      budget.left -= most;
      dropped += chunk.length - most;
      for (let at = 0; at < most;) {
        if (over) return;
        const part = chunk.subarray(at, Math.min(most, at + blockBytes - filled));
        block.set(part, filled);
        filled += part.length;
        at += part.length;
        if (filled === blockBytes) await handOver();
      }
    },
    async end(): Promise<Spooled> {
      await handOver();
      offered.resolve(null);
      return { ...(await kept), dropped };
    },
  };
}
