import type { Database, Queries } from '../database/database.ts';
import { unknownUser } from './keys.ts';

/** What was ended. */
export interface Removal {
  readonly keys: number;
  readonly links: number;
  readonly uploads: number;
}

/**
 * Ends everything that a user can come in or be served by, in one step: keys, links and rights to send. Files
 * stay until they expire. It also takes a user of OAuth, who is known by links and uploads alone. Calls under way
 * can make no more of them (links/link.ts, `demandStanding`).
 */
export async function removeUser(database: Database, name: string, now: number): Promise<Removal> {
  return database.transaction(async (tx) => {
    // First, so that it waits for links that are being made, and then finds them.
    await noteRemoval(tx, name, now);
    const known = await tx.query('DELETE FROM users WHERE name = ? RETURNING name', name);
    const keys = await tx.query('DELETE FROM api_keys WHERE user_name = ? RETURNING id', name);
    const links = await revokeLinks(tx, name, now);
    const uploads = await endUploads(tx, name, now);
    if (known.length + keys.length + links + uploads === 0) throw unknownUser(name);
    return { keys: keys.length, links, uploads };
  });
}

async function noteRemoval(tx: Queries, name: string, now: number): Promise<void> {
  await tx.query(
    `INSERT INTO removals (user_name, removed_at) VALUES (?, ?)
     ON CONFLICT (user_name) DO UPDATE SET removed_at = excluded.removed_at`,
    name,
    now,
  );
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
 * The row stays for the sweep, which gives its quota back and drops what was sent. Its hash is gone: whoever is
 * sending finds nothing to settle with, so that no file comes of it, and cannot prolong it either.
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
