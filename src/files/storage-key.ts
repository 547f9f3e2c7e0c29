import type { Queries } from '../database/database.ts';

/**
 * Where the bytes staged under this id will stand. An id ends in 24 hex digits, and they become the id of the file, so
 * that a store that cannot rename may write the bytes there from the start.
 */
export function keyFor(stagingId: string): string {
  const id = stagingId.slice(-24);
  return `files/${id.slice(0, 2)}/${id}`;
}

export const idOfKey = (key: string): string => `file_${key.slice(key.lastIndexOf('/') + 1)}`;

/** Whether a row knows these bytes. */
export async function isKnown(database: Queries, key: string): Promise<boolean> {
  return (await database.query('SELECT id FROM files WHERE id = ?', idOfKey(key))).length > 0;
}
