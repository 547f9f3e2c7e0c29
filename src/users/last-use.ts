import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';

const everyMs = 60_000;
const delayMs = 1000;
/** Beyond this, uses are not noted until the others have been written. */
const mostWaiting = 10_000;

/** Notes when keys were used, to the minute. It is written a moment later, so that no call waits for the disk. */
export function createLastUse({ database, clock, log }: { database: Database; clock: Clock; log: Log }) {
  const waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;

  async function write(): Promise<void> {
    timer = null;
    const noted = [...waiting];
    waiting.clear();
    if (noted.length === 0) return;
    try {
      await database.transaction(async (tx) => {
        for (const [keyHash, at] of noted)
          await tx.query('UPDATE api_keys SET last_used_at = ? WHERE key_hash = ?', at, keyHash);
      });
    } catch (error) {
      // The next use of the same key is noted again.
      log.warn('users.last_use_not_noted', { error });
    }
  }

  return {
    note(keyHash: string, lastUsedAt: number | null): void {
      const now = clock();
      if (lastUsedAt !== null && now - lastUsedAt < everyMs) return;
      if (waiting.has(keyHash) || waiting.size >= mostWaiting) return;
      waiting.set(keyHash, now);
      timer ??= setTimeout(() => void write(), delayMs).unref();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (timer !== null) clearTimeout(timer);
      await write();
    },
  };
}
