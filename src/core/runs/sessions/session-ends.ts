/**
 * Writes the ends of sessions to their rows. Where the database fails, an end waits and is tried again until it is
 * written, as the ends of runs are: its interpreter is closed already. It closes none itself.
 */
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { SessionEnd } from './ends.ts';
import { endRow, type SessionRecord } from './store.ts';

/** Beyond them the oldest are given up, and told as lost by the next start. */
const maxWaitingEnds = 1000;
const firstBackoffMs = 1000;
const longestBackoffMs = 60_000;

interface WaitingEnd {
  readonly row: Pick<SessionRecord, 'id' | 'cells' | 'lastUsed'>;
  readonly end: SessionEnd;
  readonly endedAt: number;
}

export type SessionEnds = ReturnType<typeof createSessionEnds>;

export function createSessionEnds({
  database,
  clock,
  log,
}: {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const waiting = new BoundedMap<string, WaitingEnd>({ mostEntries: maxWaitingEnds });
  let pauseMs = firstBackoffMs;
  let timer: NodeJS.Timeout | null = null;
  let trying: Promise<void> = Promise.resolve();

  function tryLater(): void {
    timer ??= setTimeout(() => {
      timer = null;
      trying = writeWaiting();
    }, pauseMs).unref();
  }

  async function writeWaiting(): Promise<void> {
    for (const [id, { row, end, endedAt }] of waiting)
      try {
        await endRow(database, row, end, endedAt);
        waiting.delete(id);
        log.info('session.end_written', { id });
      } catch (error) {
        log.debug('session.end_not_written', { id, error });
        pauseMs = Math.min(2 * pauseMs, longestBackoffMs);
        return tryLater();
      }
    pauseMs = firstBackoffMs;
  }

  return {
    /** Rejects where it could not be written, and is tried again then. */
    async write(row: WaitingEnd['row'], end: SessionEnd): Promise<void> {
      const endedAt = clock();
      try {
        await endRow(database, row, end, endedAt);
      } catch (error) {
        log.error('session.end_not_written', { id: row.id, error });
        waiting.set(row.id, { row, end, endedAt });
        tryLater();
        throw error;
      }
    },

    /** The end of a session that its row has not yet. */
    find: (id: string): WaitingEnd | null => waiting.use(id) ?? null,

    /** Tries once more what still waits. */
    async [Symbol.asyncDispose](): Promise<void> {
      clearTimeout(timer ?? undefined);
      await trying;
      if (waiting.size > 0) await writeWaiting();
      clearTimeout(timer ?? undefined);
    },
  };
}
