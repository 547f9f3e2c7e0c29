/**
 * The time that sweeps go by: a clock that jumps ahead must not delete everything. It does not set a clock, and what has
 * expired by the clock is refused at once; only its deletion waits.
 */
import type { Database } from './database.ts';
import { isWorkcrateError } from '../../platform/errors.ts';

/** Files may live for an hour only, and the clock of a machine may be ahead by some when it starts. */
const doubtMs = 3_600_000;

/** Up to when the clock is believed, and since when it has been far ahead of that. */
export interface Belief {
  readonly believedAt: number;
  readonly doubtedSince: number | null;
}

/**
 * A clock that is ahead for a while must not delete everything that is kept for some time. One that is more than an hour
 * ahead of the last look is believed only when it still is an hour later. After a long stop that costs an hour.
 */
export function updateBelief(before: Belief | null, now: number): Belief {
  if (before === null || now <= before.believedAt + doubtMs) return { believedAt: now, doubtedSince: null };
  const { believedAt, doubtedSince } = before;
  if (doubtedSince === null || now < doubtedSince) return { believedAt, doubtedSince: now };
  if (now < doubtedSince + doubtMs) return before;
  // After another long stop only the time of the look before is sure.
  if (now > doubtedSince + 2 * doubtMs) return { believedAt: doubtedSince, doubtedSince: now };
  return { believedAt: now, doubtedSince: null };
}

/** Where the disk is too full for a row: sweeps are what frees it. */
const unwritten = new WeakMap<Database, Belief>();

/** Sweeps ask one after the other: so much may the row be behind. */
const writeEveryMs = 10_000;

/** The time by which what is old may be deleted: now, or less where the clock is in doubt. All servers share it. */
export async function readTrustedTime(database: Database, now: number): Promise<number> {
  const before = unwritten.get(database) ?? (await readBelief(database));
  const belief = updateBelief(before, now);
  if (!isNearlySame(before, belief)) await writeBelief(database, belief);
  return Math.min(now, belief.believedAt);
}

async function readBelief(database: Database): Promise<Belief | null> {
  const [row] = await database.query<{ believed_at: number; doubted_since: number | null }>(
    'SELECT believed_at, doubted_since FROM trusted_clock',
  );
  return row ? { believedAt: row.believed_at, doubtedSince: row.doubted_since } : null;
}

const isNearlySame = (before: Belief | null, { believedAt, doubtedSince }: Belief): boolean =>
  before !== null &&
  before.doubtedSince === doubtedSince &&
  believedAt >= before.believedAt &&
  believedAt < before.believedAt + writeEveryMs;

async function writeBelief(database: Database, belief: Belief): Promise<void> {
  try {
    await database.query(
      `INSERT INTO trusted_clock (only_one, believed_at, doubted_since) VALUES (1, ?, ?)
       ON CONFLICT (only_one) DO UPDATE SET believed_at = excluded.believed_at, doubted_since = excluded.doubted_since`,
      belief.believedAt,
      belief.doubtedSince,
    );
    unwritten.delete(database);
  } catch (error) {
    if (!isWorkcrateError(error, 'storage_full')) throw error;
    unwritten.set(database, belief);
  }
}
