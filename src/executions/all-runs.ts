/**
 * Runs of all users that are under way, on every server of the database, for operators. It reads rows only: a run is
 * ended by `executions.ts`. Whoever asks decides who may see them.
 */
import type { Database } from '../database/database.ts';

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
