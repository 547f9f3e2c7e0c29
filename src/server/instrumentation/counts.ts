/**
 * Counts users, links and runs over the tables of several rooms, for `/status` and `npx workcrate usage`. The SQL of
 * each table is in the room that owns it.
 */
import { countUpTo, type Database, type Queries } from '../../ports/database/database.ts';
import { countRuns, countRunsByOwner, countRunsByState } from '../../core/runs/store.ts';
import { listUsage, readUsage, usageOwnersSql } from '../../core/files/files.ts';
import { countActiveLinks, countActiveLinksByOwner } from '../../core/links/counts.ts';
import { countKeysByUser, listUserNames, userNamesSql } from '../../core/users/counts.ts';
import { listWorkspaces, workspaceOwnersSql } from '../../core/workspaces/workspaces.ts';

export interface RowCounts {
  readonly users: number;
  readonly links: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** More are not counted. */
const mostCounted = 100_000;

/** How many there are. Each by an index or up to a bound. */
export async function readCounts(database: Database, now: number, asksWho: boolean): Promise<RowCounts> {
  const users = await countUpTo(
    mostCounted,
    database,
    `SELECT name FROM (${userNamesSql} UNION ${workspaceOwnersSql} UNION ${usageOwnersSql}) AS known
     WHERE name <> '*' AND name <> ?`,
    // Where callers sign in, `local` is nobody: it is the server's own commands, or was there before.
    asksWho ? 'local' : '*',
  );
  const links = await countActiveLinks(database, now, mostCounted);
  return { users, links, ...(await countRuns(database, mostCounted)) };
}

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

const noUsage: Omit<UserUsage, 'user'> = {
  files: 0,
  bytes: 0,
  activeLinks: 0,
  runs: 0,
  lastRunAt: null,
  keys: 0,
  keyUsedAt: null,
  place: null,
};

/** Everybody with a key, files, links, runs or a workspace, by name. Each query uses an index. */
export async function listUserUsage(database: Queries, now: number): Promise<UserUsage[]> {
  const users = new Map<string, UserUsage>();
  const add = (user: string, part: Partial<UserUsage>): void =>
    void users.set(user, { ...noUsage, ...users.get(user), ...part, user });
  for (const name of await listUserNames(database)) add(name, {});
  for (const { owner, files, bytes } of await listUsage(database)) add(owner, { files, bytes });
  for (const { owner, count } of await countActiveLinksByOwner(database, now))
    add(owner, { activeLinks: count });
  for (const { owner, count, last } of await countRunsByOwner(database))
    add(owner, { runs: count, lastRunAt: last });
  for (const { owner, number } of await listWorkspaces(database)) add(owner, { place: number });
  for (const { user, ...keys } of await countKeysByUser(database)) add(user, keys);
  return [...users.values()].sort((a, b) => (a.user < b.user ? -1 : 1));
}

/** What one user keeps, and how their runs since then ended. */
export async function readUsageOf(database: Queries, user: string, runsSince: number) {
  return {
    stored: await readUsage(database, user),
    runs: await countRunsByState(database, user, runsSince),
  };
}
