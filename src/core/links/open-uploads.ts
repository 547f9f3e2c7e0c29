/**
 * What `core/files/` needs to know about uploads in progress, so that the sweep does not delete their bytes and quotas are
 * counted correctly. It only reads; `uploads.ts` writes the rows.
 */
import type { OpenUploads } from '../files/files.ts';

export const openUploads: OpenUploads = {
  async find(database, ids, which) {
    const synced = which === 'synced' ? 'AND synced_bytes > 0' : '';
    const rows = await database.query<{ id: string }>(
      `SELECT id FROM uploads WHERE completed_at IS NULL ${synced} AND id IN (${ids.map(() => '?').join(', ')})`,
      ...ids,
    );
    return rows.map(({ id }) => id);
  },
  async isOpen(database, id, at) {
    const rows = await database.query(
      'SELECT id FROM uploads WHERE id = ? AND completed_at IS NULL AND expires_at > ?',
      id,
      at,
    );
    return rows.length > 0;
  },
  reservedSql: 'SELECT owner, reserved FROM uploads',
};
