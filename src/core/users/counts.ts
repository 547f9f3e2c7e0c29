/**
 * What statistics need from the tables of this room, so that no other room has SQL for them.
 */
import type { Queries } from '../../ports/database/database.ts';

/** A SELECT of everybody who has or had a key, for one statement with other tables. */
export const userNamesSql = 'SELECT name FROM users';

export async function listUserNames(database: Queries): Promise<string[]> {
  const rows = await database.query<{ name: string }>(userNamesSql);
  return rows.map(({ name }) => name);
}

/** How many keys each user has, and when one of them was last used. */
export async function countKeysByUser(database: Queries) {
  const rows = await database.query<{ user_name: string; count: number; last: number | null }>(
    `SELECT user_name, CAST(COUNT(*) AS BIGINT) AS count, MAX(last_used_at) AS last
     FROM api_keys GROUP BY user_name`,
  );
  return rows.map(({ user_name: user, count: keys, last: keyUsedAt }) => ({ user, keys, keyUsedAt }));
}
