import { countUpTo, type Database } from '../database/database.ts';
import { countRuns } from '../executions/counts.ts';
import { usageOwnersSql } from '../files/files.ts';
import { countActiveLinks } from '../links/counts.ts';
import { placeOwnersSql } from '../places/places.ts';
import { userNamesSql } from '../users/counts.ts';

export interface Counts {
  readonly users: number;
  readonly links: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** More are not counted. */
const mostCounted = 100_000;

/** How many there are. Each by an index or up to a bound. */
export async function countsOf(database: Database, now: number, asksWho: boolean): Promise<Counts> {
  const users = await countUpTo(
    mostCounted,
    database,
    `SELECT name FROM (${userNamesSql} UNION ${placeOwnersSql} UNION ${usageOwnersSql}) AS known
     WHERE name <> '*' AND name <> ?`,
    // Where callers sign in, `local` is nobody: it is the server's own commands, or was there before.
    asksWho ? 'local' : '*',
  );
  const links = await countActiveLinks(database, now, mostCounted);
  return { users, links, ...(await countRuns(database, mostCounted)) };
}
