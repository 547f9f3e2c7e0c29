import type { Database } from '../database/database.ts';
import type { Execution } from './fields.ts';
import { executionFromRow } from './record.ts';

/** A row may hold 3 MB of code and stdin. */
const wholeRows = 20;

export interface LostOptions {
  readonly database: Database;
  /** This server: it knows which of its own runs are under way. */
  readonly server: string;
  /** Whether a run of this server is under way, or its end is still to be written. */
  readonly isLive: (id: string) => boolean;
  readonly now: number;
  /** A run of this server that is not live is lost if it started before then. */
  readonly ownBefore: number;
  /** One of another or an unknown server is lost if it started before `before`; null where there can be none. */
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
  const ids = await staleIds(options);
  let count = 0;
  for (let at = 0; at < ids.length; at += wholeRows) {
    const some = ids.slice(at, at + wholeRows);
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

async function staleIds({ database, server, isLive, ownBefore, others }: LostOptions): Promise<string[]> {
  const own = await database.query<{ id: string; started_at: number }>(
    "SELECT id, started_at FROM executions WHERE server = ? AND ended_at IS NULL AND reason = 'running'",
    server,
  );
  const theirs = others === null ? [] : await othersRunning(database, server, others);
  return [...own.filter((row) => row.started_at < ownBefore && !isLive(row.id)), ...theirs].map(
    ({ id }) => id,
  );
}

function othersRunning(
  database: Database,
  server: string,
  { since, before }: NonNullable<LostOptions['others']>,
): Promise<{ id: string }[]> {
  return database.query<{ id: string }>(
    `SELECT id FROM executions WHERE succeeded = 0 AND reason = 'running' AND started_at >= ? AND started_at < ?
       AND (server IS NULL OR server <> ?)`,
    since,
    before,
    server,
  );
}
