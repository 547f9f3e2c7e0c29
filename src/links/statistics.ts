import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';

interface Use {
  downloads: number;
  bytes: number;
  at: number;
}

const flushMs = 1000;

/**
 * Counts the use of links. Counts are gathered for a second and written together, since a durable write
 * for each download would cost more than the download. A crash can lose that second, never a single use.
 */
export function createStatistics({ database, log }: { database: Database; log: Log }) {
  let gathered = new Map<string, Use>();
  let timer: NodeJS.Timeout | null = null;

  async function flush(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    const uses = gathered;
    gathered = new Map();
    if (uses.size === 0) return;
    await database.transaction(async (tx) => {
      for (const [tokenHash, use] of uses)
        await tx.query(
          'UPDATE links SET downloads = downloads + ?, bytes_sent = bytes_sent + ?, last_used_at = ? WHERE token_hash = ?',
          use.downloads,
          use.bytes,
          use.at,
          tokenHash,
        );
    });
  }

  function flushLater(): void {
    timer ??= setTimeout(() => {
      flush().catch((error: unknown) => log.error('statistics.flush_failed', { error }));
    }, flushMs).unref();
  }

  return {
    /** Writes what was gathered, so that a reader sees it. */
    flush,
    note(tokenHash: string, bytes: number, complete: boolean, at: number): void {
      const use = gathered.get(tokenHash) ?? { downloads: 0, bytes: 0, at };
      use.downloads += complete ? 1 : 0;
      use.bytes += bytes;
      use.at = at;
      gathered.set(tokenHash, use);
      flushLater();
    },
  };
}
