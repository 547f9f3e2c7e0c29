/**
 * Runs whose end is not in the database: ends that could not be written are retried with a backoff, and runs whose
 * server died are marked as lost. It stops no run.
 */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Execution } from './fields.ts';
import { silentMs } from './live-runs.ts';
import { executionFromRow, maxSearchedCode, updateEnded, upsertEnded, type BatchWriter } from './store.ts';

/** A row may hold 3 MB of code and stdin. */
const lostRowsAtOnce = 20;

export interface LostOptions {
  readonly database: Database;
  /** This server: it knows which of its own runs are under way. */
  readonly server: string;
  /** Whether a run of this server is under way, or its end is still to be written. */
  readonly isLive: (id: string) => boolean;
  readonly now: number;
  /** A run of this server that is not live is lost if it started before then. */
  readonly ownBefore: number;
  /**
   * One of another server is lost if it gave no sign of life for long, or never did and started before `before`; null
   * where there can be none.
   */
  readonly others: { readonly since: number; readonly before: number } | null;
}

/**
 * Says of runs that are under way nowhere that they are lost, and gives how many. They are this server's from then on,
 * so that one server alone writes the line.
 */
export async function markLost(
  options: LostOptions,
  each: (execution: Execution) => Promise<void>,
): Promise<number> {
  const ids = await listStaleIds(options);
  let count = 0;
  for (let at = 0; at < ids.length; at += lostRowsAtOnce) {
    const some = ids.slice(at, at + lostRowsAtOnce);
    const rows = await options.database.query(
      `UPDATE executions SET reason = 'lost', ended_at = ?, server = ?
       WHERE reason = 'running' AND id IN (${some.map(() => '?').join(', ')}) RETURNING *`,
      options.now,
      options.server,
      ...some,
    );
    for (const row of rows) await each(executionFromRow(row));
    count += rows.length;
  }
  return count;
}

/** Says of a run on another server that it is lost, where that has given no sign of life for long; else null. */
export async function markSilentRun(
  database: Database,
  server: string,
  id: string,
  now: number,
): Promise<Execution | null> {
  if (database.sharedClock === null) return null;
  const [row] = await database.query(
    `UPDATE executions SET reason = 'lost', ended_at = ?, server = ?
     WHERE id = ? AND reason = 'running' AND server <> ? AND seen_at < ${database.sharedClock} - ${silentMs} RETURNING *`,
    now,
    server,
    id,
    server,
  );
  return row === undefined ? null : executionFromRow(row);
}

async function listStaleIds({ database, server, isLive, ownBefore, others }: LostOptions): Promise<string[]> {
  const own = await database.query<{ id: string; started_at: number }>(
    "SELECT id, started_at FROM executions WHERE server = ? AND ended_at IS NULL AND reason = 'running'",
    server,
  );
  const theirs = others === null ? [] : await listRunningElsewhere(database, server, others);
  return [...own.filter((row) => row.started_at < ownBefore && !isLive(row.id)), ...theirs].map(
    ({ id }) => id,
  );
}

function listRunningElsewhere(
  database: Database,
  server: string,
  { since, before }: NonNullable<LostOptions['others']>,
): Promise<{ id: string }[]> {
  return database.query<{ id: string }>(
    `SELECT id FROM executions WHERE succeeded = 0 AND reason = 'running' AND started_at >= ?
       AND (server IS NULL OR server <> ?) AND (${isSilent(database)})`,
    since,
    server,
    before,
  );
}

/** Whether no server can be running it any more: a condition on rows, for one value, the time before which it began. */
const isSilent = ({ sharedClock }: Database): string =>
  sharedClock === null
    ? 'started_at < ?'
    : `CASE WHEN seen_at IS NULL THEN started_at < ? ELSE seen_at < ${sharedClock} - ${silentMs} END`;

/** Ends that wait to be written, each with its output as shown. Beyond them the oldest are given up: see below. */
const maxWaitingEnds = 1000;
/** Files that these made, of which one run can have 10,000. */
const maxWaitingResultFiles = 500_000;
const firstEndBackoffMs = 1000;
const longestEndBackoffMs = 60_000;

export interface EndWriterOptions {
  readonly database: Database;
  /** The id of this server. */
  readonly server: string;
  readonly write: BatchWriter;
  /** Told of each end once it is in its row: it writes the line. */
  readonly note: (execution: Execution) => Promise<void>;
  readonly log: Log;
}

interface WaitingEnd {
  readonly execution: Execution;
  /** Gives whether the row has the end now. */
  write(queries: Queries, execution: Execution): Promise<boolean>;
}

/**
 * Writes the ends of runs to their rows, and then their lines. Where the database fails, an end waits and is tried
 * again until it is written: the run is over, and its caller has its result already. What is given up, or still waits
 * when the server ends, stays `running` until it is found lost.
 */
export function createEndWriter({ database, server, write, note, log }: EndWriterOptions) {
  const waiting = new BoundedMap<string, WaitingEnd>({
    mostEntries: maxWaitingEnds,
    mostWeight: maxWaitingResultFiles,
    weigh: ({ execution: { resultFiles } }) => resultFiles?.files.length ?? 0,
  });
  let pauseMs = firstEndBackoffMs;
  let timer: NodeJS.Timeout | null = null;
  let trying: Promise<void> | null = null;

  /** The row first: a line without one could be contradicted by what is found at the next start. */
  async function record(execution: Execution): Promise<void> {
    let isEnded = false;
    await write(async (queries) => void (isEnded = await updateEnded(queries, execution)));
    if (isEnded) await note(execution);
    else log.warn('execution.end_refused', { id: execution.id, reason: execution.reason });
  }

  function keep(execution: Execution): void {
    // The row has the rest of them.
    const code = execution.code.slice(0, maxSearchedCode);
    waiting.set(execution.id, { execution: { ...execution, code, stdin: '' }, write: updateEnded });
    tryLater();
  }

  function tryLater(): void {
    timer ??= setTimeout(() => {
      timer = null;
      void tryAgain();
    }, pauseMs).unref();
  }

  function tryAgain(): Promise<void> {
    trying ??= writeWaiting().finally(() => (trying = null));
    return trying;
  }

  async function writeWaiting(): Promise<void> {
    for (const [id, end] of waiting)
      try {
        await recordKept(end);
        waiting.delete(id);
        log.info('execution.end_written', { id });
      } catch (error) {
        log.debug('execution.end_not_written', { id, error });
        pauseMs = Math.min(2 * pauseMs, longestEndBackoffMs);
        return tryLater();
      }
    pauseMs = firstEndBackoffMs;
  }

  /** Its line is made of the row, which has all of its code. */
  async function recordKept({ execution, write: writeEnd }: WaitingEnd): Promise<void> {
    const isEnded = await writeEnd(database, execution);
    if (!isEnded) return log.warn('execution.end_refused', { id: execution.id, reason: execution.reason });
    const [row] = await database.query('SELECT * FROM executions WHERE id = ?', execution.id);
    if (row) await note(executionFromRow(row));
  }

  return {
    /** Gives whether the row has the end now. Never rejects: what cannot be written waits. */
    async end(execution: Execution): Promise<boolean> {
      try {
        await record(execution);
        return true;
      } catch (error) {
        log.error('execution.end_not_written', { id: execution.id, error });
        keep(execution);
        return false;
      }
    },

    /**
     * For a run that never began, because its row could not be written, which may be there all the same or come later. One
     * that would be cut to be kept here, or would cost another its place, is found lost instead.
     */
    refuse(execution: Execution): void {
      const isWhole = execution.code.length <= maxSearchedCode && execution.stdin === '';
      if (!isWhole || waiting.size >= maxWaitingEnds) return;
      waiting.set(execution.id, { execution, write: (queries, end) => upsertEnded(queries, end, server) });
      tryLater();
    },

    isWaiting: (id: string): boolean => waiting.has(id),

    /** Tries once more what still waits. */
    async [Symbol.asyncDispose](): Promise<void> {
      clearTimeout(timer ?? undefined);
      await trying;
      clearTimeout(timer ?? undefined);
      if (waiting.size === 0) return;
      await tryAgain();
      clearTimeout(timer ?? undefined);
      if (waiting.size > 0) log.error('execution.ends_lost', { count: waiting.size });
    },
  };
}
