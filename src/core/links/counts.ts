/**
 * Counts of active links, for metrics and the status page. It counts rows only; how often one link was used is counted in
 * `links.ts`.
 */
import { countUpTo, type Queries } from '../../ports/database/database.ts';

const activeLinkCondition = 'expires_at > ? AND revoked_at IS NULL AND consumed_at IS NULL';

/** How many links work now, up to a bound. */
export const countActiveLinks = (database: Queries, now: number, most: number): Promise<number> =>
  countUpTo(most, database, `SELECT id FROM links WHERE ${activeLinkCondition}`, now);

/** How many links work now, for each user with at least one. */
export async function countActiveLinksByOwner(database: Queries, now: number) {
  return database.query<{ owner: string; count: number }>(
    `SELECT owner, CAST(COUNT(*) AS BIGINT) AS count FROM links WHERE ${activeLinkCondition} GROUP BY owner`,
    now,
  );
}
