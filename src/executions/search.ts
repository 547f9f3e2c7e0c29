import type { Database, SqlValue } from '../database/database.ts';
import type { Caller } from '../identity.ts';
import type { Language } from '../sandbox/sandbox.ts';
import { searchable, type Reason } from './record.ts';

export interface Search {
  /** Anything that stands in the code or the output, in any case. */
  readonly text?: string | undefined;
  readonly language?: Language | undefined;
  /** `failed` is all that has ended and is not `ok`. */
  readonly status?: 'ok' | 'failed' | Reason | undefined;
  /** From then on. */
  readonly since?: number | undefined;
  /** Before then. */
  readonly until?: number | undefined;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
}

/** An execution in a list. */
export interface Found {
  readonly id: string;
  readonly tool: string;
  readonly language: Language;
  /** Its start. */
  readonly code: string;
  readonly reason: Reason;
  readonly succeeded: boolean;
  readonly exitCode: number | null;
  readonly startedAt: number;
  readonly durationMs: number | null;
}

export interface FoundPage {
  readonly executions: readonly Found[];
  readonly next: string | null;
}

/** A place between two rows. It stays good when the row that it was made of is gone. */
export const cursorForm = /^(\d{1,15})-(exec_[0-9a-f]{12})$/;

interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

const where = (sql: string, ...values: SqlValue[]): Condition => ({ sql, values });

/** The caller's executions, newest first. */
export async function searchExecutions(
  database: Database,
  caller: Caller,
  search: Search,
): Promise<FoundPage> {
  const conditions = conditionsOf(caller, search);
  const rows = await database.query(
    `SELECT id, tool, language, SUBSTR(code, 1, 200) AS code, reason, succeeded, exit_code, started_at, duration_ms
     FROM executions WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}
     ORDER BY started_at DESC, id DESC LIMIT ${search.limit + 1}`,
    ...conditions.flatMap(({ values }) => values),
  );
  const executions = rows.slice(0, search.limit).map((row) => ({
    id: row['id'] as string,
    tool: row['tool'] as string,
    language: row['language'] as Language,
    code: row['code'] as string,
    reason: row['reason'] as Reason,
    succeeded: row['succeeded'] === 1,
    exitCode: row['exit_code'] as number | null,
    startedAt: row['started_at'] as number,
    durationMs: row['duration_ms'] as number | null,
  }));
  const last = rows.length > search.limit ? executions.at(-1) : undefined;
  return { executions, next: last === undefined ? null : `${last.startedAt}-${last.id}` };
}

function conditionsOf(caller: Caller, { text, language, status, since, until, after }: Search): Condition[] {
  const cursor = after === undefined ? null : cursorForm.exec(after);
  return [
    where('owner = ?', caller.user),
    ...(text ? [where("haystack LIKE ? ESCAPE '!'", `%${literally(searchable(text))}%`)] : []),
    ...(language === undefined ? [] : [where('language = ?', language)]),
    ...(status === undefined ? [] : [ofStatus(status)]),
    ...(since === undefined ? [] : [where('started_at >= ?', since)]),
    ...(until === undefined ? [] : [where('started_at < ?', until)]),
    ...(cursor === null ? [] : [where('(started_at, id) < (?, ?)', Number(cursor[1]), cursor[2]!)]),
  ];
}

function ofStatus(status: NonNullable<Search['status']>): Condition {
  if (status === 'ok') return where('succeeded = 1');
  if (status === 'failed') return where("succeeded = 0 AND reason <> 'running'");
  return where('reason = ?', status);
}

/** So that `%` and `_` are found rather than obeyed. */
function literally(text: string): string {
  return text.replace(/[!%_]/g, '!$&');
}
