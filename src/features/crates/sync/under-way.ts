import type { Database } from '../../../ports/database/database.ts';

/** What a search has to say while a sync is under way, which may be that of another process; null at other times. */
export async function describeSyncUnderWay(database: Database, now: number): Promise<string | null> {
  const held = await database.query("SELECT name FROM crate_leases WHERE name = 'sync' AND until > ?", now);
  return held.length === 0
    ? null
    : 'Crates are being indexed now, so more may be found in a moment. index_status shows how many there are.';
}
