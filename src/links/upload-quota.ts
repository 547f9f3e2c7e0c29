import type { Database, Queries } from '../database/database.ts';
import type { Files } from '../files/files.ts';
import { uploadBusy, type LeasedUpload } from './upload.ts';

interface QuotaOptions {
  readonly database: Database;
  readonly files: Files;
}

/** Makes that much of the quota this upload's own, or rejects; what it holds above that is given back. */
export async function hold(
  { database, files }: QuotaOptions,
  upload: LeasedUpload,
  bytes: (held: number) => number,
): Promise<void> {
  await database.transaction(async (tx) => {
    const held = await heldBy(tx, upload);
    const wanted = bytes(held);
    if (wanted === held) return;
    await tx.query('UPDATE uploads SET reserved = ? WHERE token_hash = ?', wanted, upload.tokenHash);
    await files.charge(tx, upload.owner, wanted - held, 0);
  });
}

/** What an upload holds of the quota. Locks its row, and rejects unless its writer still has the lease. */
export async function heldBy(tx: Queries, upload: LeasedUpload): Promise<number> {
  const [row] = await tx.query<{ reserved: number }>(
    'UPDATE uploads SET lease_holder = lease_holder WHERE token_hash = ? AND lease_holder = ? RETURNING reserved',
    upload.tokenHash,
    upload.holder,
  );
  if (!row) throw uploadBusy();
  return row.reserved;
}
