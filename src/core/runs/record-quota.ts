/**
 * The quota for the records of a user, in bytes: the oldest rows are deleted first, and the newest always stays. How
 * long records are kept is decided in `store.ts`; the disk quota of runs is in `ports/sandbox/`.
 */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { yieldToEventLoop } from '../../platform/concurrency/yield.ts';
import type { Database } from '../../ports/database/database.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Execution } from './fields.ts';
import type { RunRecord } from './record.ts';
import type { ForgottenRun, Forgetting } from './store.ts';

/** SQLite works in the thread of the server. To look at a row costs little, whatever it holds; to delete one does not. */
const measuredAtOnce = 500;
const deletedAtOnce = 20;
/** Users whose room is known; of more, whoever ran nothing for longest is measured again. */
const maxQuotaUsers = 10_000;

/** Beside its texts. */
const rowBytes = 500;

/** What a row takes, roughly, without the fields of extensions. */
export const coreBytesSql = `${rowBytes} + OCTET_LENGTH(code) + OCTET_LENGTH(stdin) + OCTET_LENGTH(stdout) + OCTET_LENGTH(stderr)
  + OCTET_LENGTH(haystack) + OCTET_LENGTH(inputs) + OCTET_LENGTH(artifacts)
  + OCTET_LENGTH(results) + OCTET_LENGTH(limits) + OCTET_LENGTH(temporary_files)`;

export interface RecordQuotaOptions {
  readonly database: Database;
  readonly record: RunRecord;
  /** Bytes of records that are kept for a user. */
  readonly mostBytes: number;
  readonly forget: Forgetting['forget'];
  readonly log: Log;
}

interface OldestKept {
  readonly startedAt: number;
  readonly id: string;
}

/**
 * Keeps the records of each user within a share of bytes: the oldest go first, and the newest always stays. What comes
 * is counted in memory; the rows are measured when that says that the share may be used up, and at a user's first run
 * since the start. Others may write too, so no user is believed to have much room for long.
 */
export function createRecordQuota({ database, record, mostBytes, forget, log }: RecordQuotaOptions) {
  const rowBytesSql = `${coreBytesSql}${record.sizeSql}`;
  const forgetting = { columns: record.forgottenColumns, forget };
  const count = (execution: Execution): number => countRecordBytes(execution) + record.countBytes(execution);
  const room = new BoundedMap<string, number>({ mostEntries: maxQuotaUsers });
  const trimming = new Map<string, Promise<void>>();

  async function trim(owner: string): Promise<void> {
    const { bytes, last } = await measureRecords(database, rowBytesSql, owner, mostBytes);
    if (last !== null) {
      const deleted = await deleteRecordsFrom(database, owner, last, forgetting);
      log.info('execution.records_trimmed', { user: owner, count: deleted });
    }
    room.set(owner, Math.min(mostBytes - bytes, mostBytes / 8));
  }

  function trimSoon(owner: string): void {
    if (trimming.has(owner)) return;
    const done = trim(owner)
      .catch((error: unknown) => log.error('execution.records_not_trimmed', { user: owner, error }))
      .finally(() => trimming.delete(owner));
    trimming.set(owner, done);
  }

  return {
    /** Counts a run that has ended, and has its user's oldest records removed where they take too much. */
    add(execution: Execution): void {
      const { owner } = execution;
      const left = room.get(owner);
      if (left !== undefined) room.set(owner, left - count(execution));
      if (left === undefined || left <= count(execution)) trimSoon(owner);
    },

    /** Resolves when what is being removed is gone. */
    async settled(): Promise<void> {
      await Promise.all(trimming.values());
    },
  };
}

/** The most of one, roughly. */
const resultBytes = 10_000;

const countRecordBytes = ({ code, stdinBytes, stdout, stderr, results }: Execution): number =>
  rowBytes +
  Buffer.byteLength(code) +
  stdinBytes +
  2 * (stdout.length + stderr.length) +
  results.length * resultBytes +
  16 * 1024;

/** How much the newest records take that fit into the share, and the first that does not. */
async function measureRecords(
  database: Database,
  rowBytesSql: string,
  owner: string,
  mostBytes: number,
): Promise<{ bytes: number; last: OldestKept | null }> {
  let bytes = 0;
  for (let from: OldestKept | null = null; ;) {
    const rows: RecordRow[] = await database.query<RecordRow>(
      `SELECT id, started_at, ${rowBytesSql} AS bytes FROM executions
       WHERE owner = ?${from === null ? '' : ' AND (started_at, id) < (?, ?)'}
       ORDER BY started_at DESC, id DESC LIMIT ${measuredAtOnce}`,
      owner,
      ...(from === null ? [] : [from.startedAt, from.id]),
    );
    for (const row of rows) {
      // Some room is made at once, so that not every run has to look for it.
      if (bytes > 0 && bytes + row.bytes > mostBytes - mostBytes / 16)
        return { bytes, last: { startedAt: row.started_at, id: row.id } };
      bytes += row.bytes;
    }
    if (rows.length < measuredAtOnce) return { bytes, last: null };
    from = { startedAt: rows.at(-1)!.started_at, id: rows.at(-1)!.id };
    await yieldToEventLoop();
  }
}

type RecordRow = { id: string; started_at: number; bytes: number };

/** This record and all that are older, but for runs that are under way. */
async function deleteRecordsFrom(
  database: Database,
  owner: string,
  { startedAt, id }: OldestKept,
  { columns, forget }: Forgetting,
): Promise<number> {
  for (let count = 0; ;) {
    const gone = await database.query<ForgottenRun>(
      `DELETE FROM executions WHERE id IN (
         SELECT id FROM executions WHERE owner = ? AND (started_at, id) <= (?, ?) AND reason <> 'running'
         ORDER BY started_at LIMIT ${deletedAtOnce}
       ) RETURNING ${['id', 'owner', ...columns].join(', ')}`,
      owner,
      startedAt,
      id,
    );
    await forget(gone);
    count += gone.length;
    if (gone.length < deletedAtOnce) return count;
    await yieldToEventLoop();
  }
}
