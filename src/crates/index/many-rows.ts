import type { Queries, SqlValue } from '../../database/database.ts';

const mostValues = 900;

/** Inserts rows, many with each statement. `into` names the table and its columns. */
export async function insertRows(
  queries: Queries,
  into: string,
  rows: readonly (readonly SqlValue[])[],
): Promise<void> {
  if (rows.length === 0) return;
  const width = rows[0]!.length;
  const row = `(${marks(width)})`;
  const most = Math.max(1, Math.floor(mostValues / width));
  for (let at = 0; at < rows.length; at += most) {
    const some = rows.slice(at, at + most);
    const sql = `INSERT INTO ${into} VALUES ${some.map(() => row).join(', ')}`;
    await queries.query(sql, ...some.flat());
  }
}

/** As many placeholders, with commas. */
export const marks = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

/** Calls for some of them at a time, as many as one statement takes. */
export async function inPortions<T>(
  all: readonly T[],
  call: (some: readonly T[]) => Promise<unknown>,
  most = mostValues,
): Promise<void> {
  for (let at = 0; at < all.length; at += most) await call(all.slice(at, at + most));
}
