import type { Queries } from '../database/database.ts';

/** What one user has and does, as the database knows it. */
export interface UserUsage {
  readonly user: string;
  /** As the quota counts them. */
  readonly files: number;
  readonly bytes: number;
  readonly activeLinks: number;
  /** Of which there is a record; those are kept for some weeks. */
  readonly runs: number;
  readonly lastRunAt: number | null;
  readonly keys: number;
  readonly keyUsedAt: number | null;
  /** The number of the folder below `places/`; null for somebody who never ran anything. */
  readonly place: number | null;
}

const nothing: Omit<UserUsage, 'user'> = {
  files: 0,
  bytes: 0,
  activeLinks: 0,
  runs: 0,
  lastRunAt: null,
  keys: 0,
  keyUsedAt: null,
  place: null,
};

/** Everybody who has a key, files, links, runs or a place, by name. Each question is answered by an index. */
export async function usageByUser(database: Queries, now: number): Promise<UserUsage[]> {
  const users = new Map<string, UserUsage>();
  const add = (user: string, part: Partial<UserUsage>): void =>
    void users.set(user, { ...nothing, ...users.get(user), ...part, user });
  for (const { name } of await database.query<{ name: string }>('SELECT name FROM users')) add(name, {});
  await addKept(database, add, now);
  await addRuns(database, add);
  for (const { user, ...keys } of await keysByUser(database)) add(user, keys);
  return [...users.values()].sort((a, b) => (a.user < b.user ? -1 : 1));
}

type Add = (user: string, part: Partial<UserUsage>) => void;

async function addKept(database: Queries, add: Add, now: number): Promise<void> {
  const kept = await database.query<{ owner: string; files: number; bytes: number }>(
    "SELECT owner, files, bytes FROM usage WHERE owner <> '*' AND (files > 0 OR bytes > 0)",
  );
  for (const { owner, files, bytes } of kept) add(owner, { files, bytes });
  const links = await database.query<{ owner: string; count: number }>(
    `SELECT owner, CAST(COUNT(*) AS BIGINT) AS count FROM links
     WHERE expires_at > ? AND revoked_at IS NULL AND consumed_at IS NULL GROUP BY owner`,
    now,
  );
  for (const { owner, count } of links) add(owner, { activeLinks: count });
}

async function addRuns(database: Queries, add: Add): Promise<void> {
  const runs = await database.query<{ owner: string; count: number; last: number }>(
    `SELECT owner, CAST(COUNT(*) AS BIGINT) AS count, MAX(started_at) AS last FROM executions GROUP BY owner`,
  );
  for (const { owner, count, last } of runs) add(owner, { runs: count, lastRunAt: last });
  const places = await database.query<{ owner: string; number: number }>('SELECT owner, number FROM places');
  for (const { owner, number } of places) add(owner, { place: number });
}

async function keysByUser(database: Queries) {
  const rows = await database.query<{ user_name: string; count: number; last: number | null }>(
    `SELECT user_name, CAST(COUNT(*) AS BIGINT) AS count, MAX(last_used_at) AS last
     FROM api_keys GROUP BY user_name`,
  );
  return rows.map(({ user_name: user, count: keys, last: keyUsedAt }) => ({ user, keys, keyUsedAt }));
}
