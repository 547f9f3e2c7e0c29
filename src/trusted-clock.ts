/**
 * The time that retention goes by: a clock that jumps ahead must not delete everything. It does not set a clock, and
 * expiry of links does not use it.
 */
import type { Database } from './database/database.ts';

const clockDayMs = 86_400_000;

/** Up to when the clock is believed, and since when it has been far ahead of that. */
export interface Belief {
  readonly believedAt: number;
  readonly doubtedSince: number | null;
}

/**
 * A clock that is ahead for a while must not delete everything that is kept for a number of days. One that is more than
 * a day ahead of the last look is believed only when it still is a day later. After a long stop that costs a day.
 */
export function updateBelief(before: Belief | null, now: number): Belief {
  if (before === null || now <= before.believedAt + clockDayMs)
    return { believedAt: now, doubtedSince: null };
  const { believedAt, doubtedSince } = before;
  if (doubtedSince === null || now < doubtedSince) return { believedAt, doubtedSince: now };
  if (now < doubtedSince + clockDayMs) return before;
  // After another long stop only the time of the look before is sure.
  if (now > doubtedSince + 2 * clockDayMs) return { believedAt: doubtedSince, doubtedSince: now };
  return { believedAt: now, doubtedSince: null };
}

/** The time by which what is old may be deleted: now, or less where the clock is in doubt. All servers share it. */
export async function readTrustedTime(database: Database, now: number): Promise<number> {
  const [row] = await database.query<{ believed_at: number; doubted_since: number | null }>(
    'SELECT believed_at, doubted_since FROM trusted_clock',
  );
  const before = row ? { believedAt: row.believed_at, doubtedSince: row.doubted_since } : null;
  const { believedAt, doubtedSince } = updateBelief(before, now);
  await database.query(
    `INSERT INTO trusted_clock (only_one, believed_at, doubted_since) VALUES (1, ?, ?)
     ON CONFLICT (only_one) DO UPDATE SET believed_at = excluded.believed_at, doubted_since = excluded.doubted_since`,
    believedAt,
    doubtedSince,
  );
  return Math.min(now, believedAt);
}
