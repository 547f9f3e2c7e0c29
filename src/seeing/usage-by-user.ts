import type { Queries } from '../database/database.ts';
import { countRunsByOwner } from '../executions/counts.ts';
import { listUsage } from '../files/files.ts';
import { countActiveLinksByOwner } from '../links/counts.ts';
import { listPlaces } from '../places/places.ts';
import { countKeysByUser, listUserNames } from '../users/counts.ts';

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
  for (const name of await listUserNames(database)) add(name, {});
  for (const { owner, files, bytes } of await listUsage(database)) add(owner, { files, bytes });
  for (const { owner, count } of await countActiveLinksByOwner(database, now))
    add(owner, { activeLinks: count });
  for (const { owner, count, last } of await countRunsByOwner(database))
    add(owner, { runs: count, lastRunAt: last });
  for (const { owner, number } of await listPlaces(database)) add(owner, { place: number });
  for (const { user, ...keys } of await countKeysByUser(database)) add(user, keys);
  return [...users.values()].sort((a, b) => (a.user < b.user ? -1 : 1));
}
