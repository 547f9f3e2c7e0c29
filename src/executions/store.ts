/**
 * The rows of executions: insert, update, batched writes and retention. The columns are derived from the table in
 * `fields.ts`. It writes no journal lines; only the sweep has the journal remove its old ones.
 */
import { randomBytes } from 'node:crypto';
import type { Database, Queries, Row, SqlValue } from '../database/database.ts';
import { unseenDifference } from './difference.ts';
import { executionFields, toStorable, type Background, type Execution } from './fields.ts';
import type { Journal } from './journal.ts';

export const executionIdForm = /^exec_[0-9a-f]{12}$/;

export function newExecutionId(): string {
  return `exec_${randomBytes(6).toString('hex')}`;
}

type FieldName = keyof Execution;

/** What all fields have in common, where they are gone through. */
interface StoredColumn {
  readonly name: FieldName;
  readonly column: string;
  readonly written: 'start' | 'end';
  readonly toSql: (value: unknown) => SqlValue;
  readonly fromSql: (value: SqlValue) => unknown;
}

const storedColumns: readonly StoredColumn[] = Object.entries(executionFields).flatMap(([name, field]) =>
  field.column === null ? [] : [{ ...(field as unknown as StoredColumn), name: name as FieldName }],
);

const columnByName = Object.fromEntries(storedColumns.map((column) => [column.name, column])) as Record<
  FieldName,
  StoredColumn
>;

/** Some of the fields: their columns for a SELECT, and what reads them from its rows. */
export function selectFields<K extends FieldName>(names: readonly K[]) {
  const chosen = names.map((name) => columnByName[name]);
  return {
    columns: chosen.map(({ column }) => column),
    fromRow(row: Row): Pick<Execution, K> {
      const found: Partial<Record<FieldName, unknown>> = {};
      for (const { name, column, fromSql } of chosen) found[name] = fromSql(row[column]!);
      return found as Pick<Execution, K>;
    },
  };
}

const everyField = selectFields(storedColumns.map(({ name }) => name));

/** Of a run that its server left behind, the row has no changes of files, since nobody saw them. */
export function executionFromRow(row: Row): Execution {
  const execution = everyField.fromRow(row);
  const isUnseen = execution.reason === 'lost' && execution.durationMs === null;
  return isUnseen ? { ...execution, artifacts: unseenDifference } : execution;
}

const startColumns = storedColumns.filter(({ written }) => written === 'start');
const endColumns = storedColumns.filter(({ written }) => written === 'end');
const toValues = (chosen: readonly StoredColumn[], execution: Execution): SqlValue[] =>
  chosen.map(({ name, toSql }) => toSql(execution[name]));

const insertSql = `INSERT INTO executions (${startColumns.map(({ column }) => column).join(', ')}, haystack, server, seen_at, reason, succeeded)
     VALUES (${startColumns.map(() => '?').join(', ')}, ?, ?, @now, 'running', 0) ON CONFLICT (id) DO NOTHING`;

/**
 * `server` is the id of the server that runs it: the others leave it alone, and its lines are written there. The first
 * sign of life is by the clock that they share. Twice is as good as once: an insert that failed may have been written.
 */
export async function insertRunning(
  queries: Queries,
  execution: Execution,
  server: string,
  sharedClock: Database['sharedClock'] = null,
): Promise<void> {
  const sql = insertSql.replace('@now', sharedClock ?? 'NULL');
  await queries.query(sql, ...toValues(startColumns, execution), toHaystack(execution), server);
}

const allColumns = [...startColumns, ...endColumns];
const insertEndedSql = `INSERT INTO executions (${allColumns.map(({ column }) => column).join(', ')}, haystack, server)
     VALUES (${allColumns.map(() => '?').join(', ')}, ?, ?)
     ON CONFLICT (id) DO UPDATE SET ${endColumns.map(({ column }) => `${column} = excluded.${column}`).join(', ')}
     WHERE executions.reason = 'running' RETURNING id`;

/**
 * The end of a run that never began, for a row that may be there or come later: this one then keeps it out. Gives whether
 * it has this end.
 */
export async function upsertEnded(queries: Queries, execution: Execution, server: string): Promise<boolean> {
  const values = [...toValues(allColumns, execution), toHaystack(execution), server];
  return (await queries.query(insertEndedSql, ...values)).length > 0;
}

const updateSql = `UPDATE executions SET ${endColumns.map(({ column }) => `${column} = ?`).join(', ')}, haystack = ?
     WHERE id = ? AND (reason = 'running' OR (reason = ? AND ended_at = ?)) RETURNING id`;

/**
 * Gives whether the row has this end now. It has not where there is no such row, or where it was found lost meanwhile:
 * an end is never replaced by another. To write the same end twice is allowed, since the first answer may be lost.
 */
export async function updateEnded(database: Queries, execution: Execution): Promise<boolean> {
  const { id, reason, endedAt } = execution;
  const end = toValues(endColumns, execution);
  const rows = await database.query(updateSql, ...end, toHaystack(execution), id, reason, endedAt);
  return rows.length > 0;
}

/** Says in the row of a run that it goes on without its call. */
export async function updateBackground(database: Queries, id: string, why: Background): Promise<void> {
  await database.query("UPDATE executions SET background = ? WHERE id = ? AND reason = 'running'", why, id);
}

const latestInputsSql =
  "SELECT inputs FROM executions WHERE owner = ? AND inputs <> '[]' ORDER BY started_at DESC, id DESC LIMIT 100";

/** Whether a late run of this user was given these bytes under this name. */
export async function wasInput(database: Queries, owner: string, input: NamedBytes): Promise<boolean> {
  const { fromRow } = selectFields(['inputs']);
  const rows = await database.query(latestInputsSql, owner);
  return rows.some((row) =>
    fromRow(row).inputs.some(({ name, sha256 }) => name === input.name && sha256 === input.sha256),
  );
}

type NamedBytes = Pick<Execution['inputs'][number], 'name' | 'sha256'>;

/**
 * Whether other servers run code of this user, and when the latest run there ended well, if that was after a time: what it
 * made belongs to its record.
 */
export async function findOthersWriting(
  database: Database,
  owner: string,
  server: string,
  since: number,
): Promise<{ isWriting: boolean; endedAt: number | null }> {
  if (!database.isShared) return { isWriting: false, endedAt: null };
  const rows = await database.query(othersWritingSql, owner, server, since);
  const ends = rows.map(({ ended_at }) => ended_at as number | null);
  return {
    isWriting: ends.includes(null),
    endedAt: ends.reduce<number | null>((latest, end) => Math.max(latest ?? 0, end ?? 0), null),
  };
}

const othersWritingSql =
  "SELECT ended_at FROM executions WHERE owner = ? AND server <> ? AND reason <> 'disk' AND (reason = 'running' OR ended_at >= ?) LIMIT 1000";

/** How much of each can be searched: every row that is looked at takes its time. */
export const maxSearchedCode = 16 * 1024;
const maxSearchedOutput = 8 * 1024;

function toHaystack({ code, stdout, stderr, results }: Execution): string {
  const values = results.map(({ text }) => text).join('\n');
  const outputs = [stdout, stderr, ...(values === '' ? [] : [values])].map((text) =>
    text.slice(0, maxSearchedOutput),
  );
  return toSearchable([code.slice(0, maxSearchedCode), ...outputs].join('\n'));
}

/** The form in which text is searched, and searched for. */
export function toSearchable(text: string): string {
  return toStorable(text).toLowerCase();
}

export type Write = (queries: Queries) => Promise<void>;

/** Writes together with others of the same turn, and resolves when it is durable. */
export type BatchWriter = (write: Write) => Promise<void>;

/**
 * Writes what is asked for within one turn of the event loop in one transaction: a disk takes as long for eight
 * rows as for one. One that cannot be written does not cost the others. It may be run twice, the second time after its
 * transaction failed in a way that leaves open whether it was committed: so twice must be as good as once.
 */
export function createBatchWriter(database: Database): BatchWriter {
  let waiting: { write: Write; done: PromiseWithResolvers<void> }[] = [];

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = [];
    const isWritten = batch.length > 1 && (await writeInTransaction(database, batch));
    for (const { write, done } of batch)
      if (isWritten) done.resolve();
      else await write(database).then(done.resolve, done.reject);
  }

  return (write) => {
    const done = Promise.withResolvers<void>();
    if (waiting.push({ write, done }) === 1) setImmediate(() => void flush());
    return done.promise;
  };
}

async function writeInTransaction(
  database: Database,
  batch: readonly { readonly write: Write }[],
): Promise<boolean> {
  try {
    await database.transaction(async (tx) => {
      for (const { write } of batch) await write(tx);
    });
    return true;
  } catch {
    // Each by itself then, which shows whose fault it is.
    return false;
  }
}

const retentionBatch = 500;
const retentionDayMs = 86_400_000;

export interface Retention {
  readonly successDays: number;
  readonly failureDays: number;
}

export interface SweptExecutions {
  readonly executions: number;
  readonly journals: number;
}

/** Forgets executions that are older than their record is kept, rows and lines alike. */
export async function sweepExecutions(
  database: Database,
  journal: Journal,
  now: number,
  { successDays, failureDays }: Retention,
  forget: (gone: readonly ForgottenRun[]) => Promise<void>,
): Promise<SweptExecutions> {
  const before = {
    successes: now - successDays * retentionDayMs,
    failures: now - failureDays * retentionDayMs,
  };
  const successes = await deleteOldExecutions(database, 1, before.successes, forget);
  const failures = await deleteOldExecutions(database, 0, before.failures, forget);
  return { executions: successes + failures, journals: await journal.sweep(before) };
}

/** A run whose row is gone, and what it had kept. */
export type ForgottenRun = { id: string; owner: string; kept_bytes: number };

async function deleteOldExecutions(
  database: Database,
  succeeded: 0 | 1,
  before: number,
  forget: (gone: readonly ForgottenRun[]) => Promise<void>,
): Promise<number> {
  for (let count = 0; ;) {
    const gone = await database.query<ForgottenRun>(
      `DELETE FROM executions WHERE id IN (
         SELECT id FROM executions WHERE succeeded = ? AND started_at < ? AND reason <> 'running'
         ORDER BY started_at LIMIT ${retentionBatch}
       ) RETURNING id, owner, kept_bytes`,
      succeeded,
      before,
    );
    await forget(gone);
    count += gone.length;
    if (gone.length < retentionBatch) return count;
  }
}
