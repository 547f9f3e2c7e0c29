/**
 * Counts of recorded runs for metrics and status pages. The table belongs to this room, so the SQL is here. It
 * decides nothing: `instrumentation/` asks for them.
 */
import { countUpTo, type Queries } from '../database/database.ts';

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
