/** Writes journal lines again that a crash or a loss of power took, from the rows in the database. It changes no row. */
import type { Database, Row } from '../database/database.ts';
import type { Execution } from './fields.ts';
import { readIdsSince, readLastEndedAt } from './journal-files.ts';
import type { Journal } from './journal.ts';
import { executionFromRow, selectFields } from './store.ts';

/** How much earlier than the last line that is left a line can be missing. Lines are synced every second. */
const restoreMarginMs = 600_000;
const restoreRowsAtOnce = 200;
/** A row may hold 3 MB of code and stdin. */
const restoreWholeRows = 20;

/**
 * Writes lines again that are missing for runs of this server which have ended: a loss of power took them, or the
 * server died between the row and its line. Gives how many. A line that is there is never written twice.
 */
export async function restoreLines(
  database: Database,
  server: string,
  journal: Journal,
  folder: string,
): Promise<number> {
  const last = await readLastEndedAt(folder);
  const since = last === null ? 0 : last - restoreMarginMs;
  const ended = await listEndedSince(database, server, since);
  if (ended.length === 0) return 0;
  const there = await readIdsSince(folder, since);
  const missing = ended.filter((id) => !there.has(id));
  for (let at = 0; at < missing.length; at += restoreWholeRows)
    await appendRows(database, journal, missing.slice(at, at + restoreWholeRows));
  return missing.length;
}

/** In the order in which they ended. */
async function listEndedSince(database: Database, server: string, since: number): Promise<string[]> {
  const found: string[] = [];
  for (let [from, after] = [since, '']; ;) {
    const rows = await database.query<{ id: string; ended_at: number }>(
      `SELECT id, ended_at FROM executions WHERE server = ? AND ended_at >= ? AND (ended_at > ? OR id > ?)
       ORDER BY ended_at, id LIMIT ${restoreRowsAtOnce}`,
      server,
      from,
      from,
      after,
    );
    found.push(...rows.map(({ id }) => id));
    if (rows.length < restoreRowsAtOnce) return found;
    ({ ended_at: from, id: after } = rows.at(-1)!);
  }
}

/** Writes the lines of these runs, of their rows. */
export async function appendRows(
  database: Database,
  journal: Journal,
  ids: readonly string[],
): Promise<void> {
  const rows = await database.query(
    `SELECT * FROM executions WHERE id IN (${ids.map(() => '?').join(', ')}) ORDER BY ended_at`,
    ...ids,
  );
  for (const row of rows) await journal.append(executionFromRow(row));
}

/** A run that is over, in few words. */
export type RunWithoutLine = Pick<Execution, 'id' | 'owner' | 'tool' | 'reason' | 'exitCode'> & {
  readonly endedAt: number;
};

const endedFields = selectFields(['id', 'owner', 'tool', 'reason', 'exitCode', 'durationMs', 'endedAt']);

const lateMs = 60_000;
const maxLateRuns = 1000;

/** Runs of this server that ended in the last minute in which any did: what a crash can have cost their lines. */
export async function listLastEnded(database: Database, server: string): Promise<RunWithoutLine[]> {
  const [newest] = await database.query<{ last: number | null }>(
    'SELECT MAX(ended_at) AS last FROM executions WHERE server = ?',
    server,
  );
  const rows = await database.query(
    `SELECT ${endedFields.columns.join(', ')} FROM executions
     WHERE server = ? AND ended_at >= ? ORDER BY ended_at DESC LIMIT ${maxLateRuns}`,
    server,
    (newest?.last ?? 0) - lateMs,
  );
  return rows.filter(hasRun).map(toEndedRun).toReversed();
}

/** A run that was not started was an error to its caller, and is logged as one. */
function hasRun({ reason, duration_ms, ended_at }: Row): boolean {
  if (ended_at === null || reason === 'running' || reason === 'refused') return false;
  return duration_ms !== 0 || (reason !== 'cancelled' && reason !== 'lost');
}

function toEndedRun(row: Row): RunWithoutLine {
  const { durationMs: _, endedAt, ...run } = endedFields.fromRow(row);
  return { ...run, endedAt: endedAt! };
}
