import type { Queries } from '../../database/database.ts';

/** How much stands in a source. */
export interface Held {
  readonly bytes: number;
  readonly crates: number;
}

/** What the index knows of in a source, broken crates too: one owner's, everybody's for null, or all of it. */
export async function bytesIn(
  database: Queries,
  source: string,
  owner: string | null | undefined,
): Promise<Held> {
  const whose = owner === undefined ? '' : owner === null ? 'AND owner IS NULL' : 'AND owner = ?';
  const [held] = await database.query<{ bytes: number; crates: number }>(
    `SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes, CAST(COUNT(*) AS BIGINT) AS crates
     FROM crates WHERE source = ? ${whose}`,
    source,
    ...(typeof owner === 'string' ? [owner] : []),
  );
  return held!;
}
