/**
 * Searches the executions of a caller, newest first, in small windows that yield to the event loop. It shows only the
 * fields of a list; `executions.ts` gets a whole execution.
 */
import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Database, SqlValue } from '../database/database.ts';
import type { Caller } from '../identity.ts';
import type { Language } from '../sandbox/sandbox.ts';
import { listedFields, type ListedExecution, type Reason } from './fields.ts';
import { toSearchable, selectFields } from './store.ts';

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
