/**
 * Ends all links and upload links of a user who is being removed, in the transaction of the caller. It deletes no files and
 * no rows: the sweep does that later.
 */
import type { Queries } from '../../ports/database/database.ts';
import type { EndedRights } from '../users/users.ts';

export async function endRights(tx: Queries, owner: string, now: number): Promise<EndedRights> {
  return { links: await revokeLinks(tx, owner, now), uploads: await endUploads(tx, owner, now) };
}

async function revokeLinks(tx: Queries, owner: string, now: number): Promise<number> {
  const rows = await tx.query(
    `UPDATE links SET revoked_at = ?
     WHERE owner = ? AND revoked_at IS NULL AND consumed_at IS NULL AND expires_at > ? RETURNING id`,
    now,
    owner,
    now,
  );
  return rows.length;
}

/**
 * The row stays for the sweep, which gives its quota back and drops its bytes. The token hash is replaced: a sender
 * that is still at work finds no row to complete, so no file comes of it, and cannot prolong it either.
 */
async function endUploads(tx: Queries, owner: string, now: number): Promise<number> {
  const rows = await tx.query<{ file_id: string | null }>(
    `UPDATE uploads SET token_hash = 'ended ' || id, expires_at = ?, lease_holder = NULL, lease_until = NULL
     WHERE owner = ? AND expires_at > ? RETURNING file_id`,
    now,
    owner,
    now,
  );
  return rows.filter((row) => row.file_id === null).length;
}
