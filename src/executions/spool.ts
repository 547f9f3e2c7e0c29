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

/**
 * Hands bytes on to whoever keeps them: a writer waits until they are taken, and then their memory is its own
 * again. Where keeping fails, the writer goes on and nothing more is kept.
 */
export function createSpool(keep: (bytes: AsyncIterable<Uint8Array>) => Promise<StoredFile>, budget: Budget) {
  let offered = Promise.withResolvers<Uint8Array | null>();
  let taken = Promise.withResolvers<void>();
  let over = false;
  let dropped = 0;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let next = await offered.promise; next !== null; next = await offered.promise) {
      offered = Promise.withResolvers();
      yield next;
      taken.resolve();
    }
  }

  const kept = keep(chunks())
    .then(
      (file) => ({ file, failure: null }),
      (error: unknown) => ({ file: null, failure: asWorkcrateError(error) }),
    )
    .finally(() => {
      over = true;
      taken.resolve();
    });

  return {
    async write(chunk: Uint8Array): Promise<void> {
      const most = Math.min(chunk.length, budget.left);
      budget.left -= most;
      dropped += chunk.length - most;
      if (over || most === 0) return;
      taken = Promise.withResolvers();
      offered.resolve(chunk.subarray(0, most));
      await taken.promise;
    },
    async end(): Promise<Spooled> {
      offered.resolve(null);
      return { ...(await kept), dropped };
    },
  };
}
