import type { Database } from '../database/database.ts';

interface Usage {
  readonly files: number;
  readonly bytes: number;
}

/** What is kept in all, as the quota counts it. */
export async function usageOf(database: Database): Promise<Usage> {
  const [row] = await database.query<{ files: number; bytes: number }>(
    "SELECT files, bytes FROM usage WHERE owner = '*'",
  );
  return { files: row?.files ?? 0, bytes: row?.bytes ?? 0 };
}

export interface Counts {
  readonly users: number;
  readonly links: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** More are not counted: SQLite counts in the thread of the server. */
const mostCounted = 100_000;

/** How many there are. Each by an index or up to a bound, since rows of executions are long. */
export async function countsOf(database: Database, now: number, asksWho: boolean): Promise<Counts> {
  const users = await counted(
    database,
    `SELECT name FROM (SELECT name FROM users UNION SELECT owner FROM places UNION SELECT owner FROM usage) AS known
     WHERE name <> '*' AND name <> ?`,
    // Where callers sign in, `local` is nobody: it is the server's own commands, or was there before.
    asksWho ? 'local' : '*',
  );
  const links = await counted(
    database,
    'SELECT id FROM links WHERE expires_at > ? AND revoked_at IS NULL AND consumed_at IS NULL',
    now,
  );
  const succeeded = await counted(database, 'SELECT succeeded FROM executions WHERE succeeded = 1');
  const failed = await counted(database, 'SELECT succeeded FROM executions WHERE succeeded = 0');
  return { users, links, succeeded, failed };
}

async function counted(database: Database, select: string, ...values: (number | string)[]): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT COUNT(*) AS count FROM (${select} LIMIT ${mostCounted}) AS found`,
    ...values,
  );
  return row?.count ?? 0;
}
