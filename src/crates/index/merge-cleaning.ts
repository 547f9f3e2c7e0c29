import type { Database } from '../../database/database.ts';

/** A segment that nobody has worked on for so long was left by a process that died. */
const abandonedMs = 15 * 60_000;
/** Each step is a transaction. */
const blocksPerStep = 1000;
/** More than a merge leaves behind, so that what is left does not pile up. */
const mostSteps = 200;

/** Removes what is left of retired and abandoned segments; whether there was any. */
export async function cleanUp(database: Database, now: number): Promise<boolean> {
  for (let step = 0; step < mostSteps; step++) if (!(await cleanSome(database, now))) return step > 0;
  return true;
}

async function cleanSome(database: Database, now: number): Promise<boolean> {
  const [row] = await database.query<{ segment: number }>(
    `SELECT segment FROM crate_segments
     WHERE state = 'retired' OR (state = 'building' AND touched_at < ?) ORDER BY segment LIMIT 1`,
    now - abandonedMs,
  );
  if (row === undefined) return false;
  const { segment } = row;
  const [left] = await database.query<{ least: number | null }>(
    'SELECT MIN(block) AS least FROM crate_blocks WHERE segment = ?',
    segment,
  );
  const least = left?.least ?? 0;
  await database.transaction(async (tx) => {
    const end = least + blocksPerStep;
    await tx.query('DELETE FROM crate_blocks WHERE segment = ? AND block < ?', segment, end);
    const [more] = await tx.query('SELECT block FROM crate_blocks WHERE segment = ? LIMIT 1', segment);
    if (more !== undefined) return;
    await tx.query('DELETE FROM crate_segment_parts WHERE segment = ?', segment);
    await tx.query('DELETE FROM crate_segments WHERE segment = ?', segment);
  });
  return true;
}
