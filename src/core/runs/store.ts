/**
 * The rows of executions: insert, update, batched writes, searches, counts and retention. The columns are derived from the
 * table in `fields.ts`. It writes no journal lines; only the sweep has the journal remove its old ones.
 */
import { randomBytes } from 'node:crypto';
import {
  type Database,
  type Queries,
  type Row,
  type SqlValue,
  countUpTo,
} from '../../ports/database/database.ts';
import {
  coreFields,
  toStorable,
  type Background,
  type Execution,
  listedFields,
  type ListedExecution,
  type Reason,
} from './fields.ts';
import type { Journal } from './journal.ts';
import { yieldToEventLoop } from '../../platform/concurrency/yield.ts';
import type { Caller } from '../identity.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';

export const executionIdForm = /^exec_[0-9a-f]{12}$/;

export function newExecutionId(): string {
  return `exec_${randomBytes(6).toString('hex')}`;
}

type CoreName = {
  [K in keyof typeof coreFields]: (typeof coreFields)[K]['column'] extends null ? never : K;
}[keyof typeof coreFields];

/** Some of the fields of this room: their columns for a SELECT, and what reads them from its rows. */
export function selectFields<K extends CoreName & keyof Execution>(names: readonly K[]) {
  const chosen = names.map((name) => ({ name, ...coreFields[name] }));
  return {
    columns: chosen.map(({ column }) => column),
    fromRow(row: Row): Pick<Execution, K> {
      const found: Partial<Record<K, unknown>> = {};
      for (const { name, column, fromSql } of chosen) found[name] = fromSql(row[column]!);
      return found as Pick<Execution, K>;
    },
  };
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

export function toHaystack({ code, stdout, stderr, results }: Execution): string {
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

type Write = (queries: Queries) => Promise<void>;

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
  forgetting: Forgetting,
): Promise<SweptExecutions> {
  const before = {
    successes: now - successDays * retentionDayMs,
    failures: now - failureDays * retentionDayMs,
  };
  const successes = await deleteOldExecutions(database, 1, before.successes, forgetting);
  const failures = await deleteOldExecutions(database, 0, before.failures, forgetting);
  return { executions: successes + failures, journals: await journal.sweep(before) };
}

/** What is known of runs whose rows go. */
export interface Forgetting {
  /** Columns of extensions. */
  readonly columns: readonly string[];
  readonly forget: (gone: readonly ForgottenRun[]) => Promise<void>;
}

/** A run whose row is gone, with these columns. */
export type ForgottenRun = Row & { readonly id: string; readonly owner: string };

async function deleteOldExecutions(
  database: Database,
  succeeded: 0 | 1,
  before: number,
  { columns, forget }: Forgetting,
): Promise<number> {
  for (let count = 0; ;) {
    const gone = await database.query<ForgottenRun>(
      `DELETE FROM executions WHERE id IN (
         SELECT id FROM executions WHERE succeeded = ? AND started_at < ? AND reason <> 'running'
         ORDER BY started_at LIMIT ${retentionBatch}
       ) RETURNING ${['id', 'owner', ...columns].join(', ')}`,
      succeeded,
      before,
    );
    await forget(gone);
    count += gone.length;
    if (gone.length < retentionBatch) return count;
  }
}

export interface ExecutionSearch {
  /** Any text in the start of the code or the output, in any case. */
  readonly text?: string | undefined;
  readonly language?: Language | undefined;
  /** `failed` is all that has ended and is not `ok`. */
  readonly status?: 'ok' | 'failed' | Reason | undefined;
  /** From then on. */
  readonly since?: number | undefined;
  /** Before then. */
  readonly until?: number | undefined;
  /** 20 if nothing is said. */
  readonly limit?: number | undefined;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  /** Instead: the runs right before this place, which are newer. */
  readonly before?: string | undefined;
}

export interface FoundPage {
  readonly executions: readonly ListedExecution[];
  /** Where to go on, the same way. */
  readonly next: string | null;
}

/** A place between two rows. It stays good when the row that it was made of is gone. */
export const cursorForm = /^(\d{1,15})-(exec_[0-9a-f]{12})$/;

interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

const toCondition = (sql: string, ...values: SqlValue[]): Condition => ({ sql, values });

/**
 * The caller's executions, newest first. SQLite works in the thread of the server, and a row may hold a
 * megabyte before what is looked at; so others have their turn after every few rows, and a page may end early.
 */
export async function findExecutions(
  database: Database,
  caller: Caller,
  search: ExecutionSearch,
): Promise<FoundPage> {
  const { hits, next } = await findHits(database, caller, search);
  const executions: ListedExecution[] = [];
  const places = search.before === undefined ? hits : hits.toReversed();
  for (let at = 0; at < places.length; at += windowRows) {
    if (at > 0) await yieldToEventLoop();
    executions.push(...(await readListedRows(database, caller, places.slice(at, at + windowRows))));
  }
  return { executions, next: next && formatCursor(next) };
}

/** Rows that one query looks at, and that a whole search does. */
const windowRows = 25;
const maxSearchedRows = 50_000;

interface ExecutionCursor {
  readonly startedAt: number;
  readonly id: string;
}

/** Where rows are read from, and which way. */
interface SearchWindow {
  readonly from: ExecutionCursor | null;
  readonly direction: 'older' | 'newer';
}

const formatCursor = ({ startedAt, id }: ExecutionCursor): string => `${startedAt}-${id}`;

/** The cursors of a page's rows, and the last row before the next page, if there is one. */
async function findHits(
  database: Database,
  caller: Caller,
  { limit = 20, after, before, ...search }: ExecutionSearch,
): Promise<{ hits: ExecutionCursor[]; next: ExecutionCursor | null }> {
  const hits: ExecutionCursor[] = [];
  const cursor = before ?? after;
  const direction = before === undefined ? 'older' : 'newer';
  let from = cursor === undefined ? null : parseCursor(cursor);
  for (let seen = 0; seen < maxSearchedRows; seen += windowRows) {
    if (seen > 0) await yieldToEventLoop();
    const rows = await readWindow(database, caller, search, { from, direction });
    for (const { isHit, ...place } of rows) {
      if (isHit && hits.length === limit) return { hits, next: hits.at(-1)! };
      if (isHit) hits.push(place);
    }
    if (rows.length < windowRows) return { hits, next: null };
    from = rows.at(-1)!;
  }
  return { hits, next: from };
}

function parseCursor(cursor: string): ExecutionCursor | null {
  const [, startedAt, id] = cursorForm.exec(cursor) ?? [];
  return startedAt === undefined || id === undefined ? null : { startedAt: Number(startedAt), id };
}

/** The next rows in the order of the index, whether or not they are looked for. */
async function readWindow(
  database: Database,
  caller: Caller,
  search: Omit<ExecutionSearch, 'limit' | 'after' | 'before'>,
  window: SearchWindow,
): Promise<(ExecutionCursor & { isHit: boolean })[]> {
  const wanted = toSearchConditions(search);
  const range = toRangeConditions(caller, search, window);
  const order = window.direction === 'older' ? 'DESC' : 'ASC';
  const rows = await database.query(
    `SELECT id, started_at, CASE WHEN ${joinConditions(wanted)} THEN 1 ELSE 0 END AS hit
     FROM executions WHERE ${joinConditions(range)} ORDER BY started_at ${order}, id ${order} LIMIT ${windowRows}`,
    ...[...wanted, ...range].flatMap(({ values }) => values),
  );
  return rows.map((row) => ({
    id: row['id'] as string,
    startedAt: row['started_at'] as number,
    isHit: row['hit'] === 1,
  }));
}

const joinConditions = (conditions: readonly Condition[]): string =>
  conditions.map(({ sql }) => sql).join(' AND ');

const listedSelection = selectFields(listedFields);
const listedColumns = listedSelection.columns.map((column) =>
  column === 'code' ? 'SUBSTR(code, 1, 200) AS code' : column,
);

async function readListedRows(
  database: Database,
  caller: Caller,
  places: readonly ExecutionCursor[],
): Promise<ListedExecution[]> {
  const rows = await database.query(
    `SELECT ${listedColumns.join(', ')}
     FROM executions WHERE owner = ? AND id IN (${places.map(() => '?').join(', ')})
     ORDER BY started_at DESC, id DESC`,
    caller.user,
    ...places.map(({ id }) => id),
  );
  return rows.map(listedSelection.fromRow);
}

/** What the index decides. */
function toRangeConditions(
  { user }: Caller,
  { since, until }: Pick<ExecutionSearch, 'since' | 'until'>,
  { from, direction }: SearchWindow,
) {
  return [
    toCondition('owner = ?', user),
    ...(since === undefined ? [] : [toCondition('started_at >= ?', since)]),
    ...(until === undefined ? [] : [toCondition('started_at < ?', until)]),
    ...(from === null
      ? []
      : [
          toCondition(
            `(started_at, id) ${direction === 'older' ? '<' : '>'} (?, ?)`,
            from.startedAt,
            from.id,
          ),
        ]),
  ];
}

/**
 * What the rows have to be looked at for. Not LIKE, which in SQLite takes as many steps as text and pattern
 * have characters multiplied.
 */
function toSearchConditions({
  text,
  language,
  status,
}: Pick<ExecutionSearch, 'text' | 'language' | 'status'>): Condition[] {
  return [
    toCondition('1 = 1'),
    ...(language === undefined ? [] : [toCondition('language = ?', language)]),
    ...(status === undefined ? [] : [toStatusCondition(status)]),
    ...(text ? [toCondition("REPLACE(haystack, ?, '') <> haystack", toSearchable(text))] : []),
  ];
}

function toStatusCondition(status: NonNullable<ExecutionSearch['status']>): Condition {
  if (status === 'ok') return toCondition('succeeded = 1');
  if (status === 'failed') return toCondition("succeeded = 0 AND reason <> 'running'");
  return toCondition('reason = ?', status);
}

/** How many runs of which there is a record succeeded or failed, each up to a bound: their rows are long. */
export async function countRuns(database: Queries, most: number) {
  return {
    succeeded: await countUpTo(most, database, 'SELECT succeeded FROM executions WHERE succeeded = 1'),
    failed: await countUpTo(most, database, 'SELECT succeeded FROM executions WHERE succeeded = 0'),
  };
}

/** How many runs each user has a record of, and when the last one began. */
export async function countRunsByOwner(database: Queries) {
  return database.query<{ owner: string; count: number; last: number }>(
    `SELECT owner, CAST(COUNT(*) AS BIGINT) AS count, MAX(started_at) AS last FROM executions GROUP BY owner`,
  );
}

/** How the runs of a user that began since then ended, or that they have not. */
export async function countRunsByState(database: Queries, owner: string, since: number) {
  return database.query<{ state: string; count: number }>(
    `SELECT CASE WHEN succeeded = 1 THEN 'ok' WHEN reason = 'exit' THEN 'failed' ELSE reason END AS state,
            CAST(COUNT(*) AS BIGINT) AS count
     FROM executions WHERE owner = ? AND started_at >= ? GROUP BY 1 ORDER BY 2 DESC, 1`,
    owner,
    since,
  );
}

/** A run under way, with the start of its code. */
export interface RunningRun {
  readonly id: string;
  readonly owner: string;
  readonly language: string;
  readonly code: string;
  readonly startedAt: number;
  readonly sessionId: string | null;
  /** The id of the server that it runs on; null in rows of releases that did not note it. */
  readonly server: string | null;
}

/** The longest first. */
export async function listRunningRuns(database: Database, limit: number): Promise<RunningRun[]> {
  const rows = await database.query<{
    id: string;
    owner: string;
    language: string;
    code: string;
    started_at: number;
    session_id: string | null;
    server: string | null;
  }>(
    `SELECT id, owner, language, SUBSTR(code, 1, 400) AS code, started_at, session_id, server FROM executions
     WHERE reason = 'running' ORDER BY started_at, id LIMIT ?`,
    limit,
  );
  return rows.map(({ started_at: startedAt, session_id: sessionId, ...run }) => ({
    ...run,
    startedAt,
    sessionId,
  }));
}

/** Whose run has this id; null where there is none. */
export async function findRunOwner(database: Database, id: string): Promise<string | null> {
  const [row] = await database.query<{ owner: string }>('SELECT owner FROM executions WHERE id = ?', id);
  return row?.owner ?? null;
}
