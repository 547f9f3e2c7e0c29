import { isWorkcrateError } from '../errors.ts';
import type { FilesOptions } from './files.ts';
import { charge } from './quota.ts';
import { fileFromRow, type StoredFile } from './stored-file.ts';

const batch = 500;

/** Rows go first, then bytes: a crash between leaves bytes without a row, which the next start removes. */
export async function sweepFiles(options: FilesOptions): Promise<number> {
  let count = 0;
  for (;;) {
    const expired = await forgetExpired(options).catch((error: unknown) => {
      if (!isWorkcrateError(error, 'storage_full')) throw error;
      return freeThenForget(options);
    });
    for (const file of expired) await removeBytes(options, file.storageKey);
    count += expired.length;
    if (expired.length < batch) return count;
  }
}

async function forgetExpired({ database, clock, quotas }: FilesOptions): Promise<StoredFile[]> {
  return database.transaction(async (tx) => {
    const rows = await tx.query(
      `DELETE FROM files WHERE id IN (SELECT id FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ${batch}) RETURNING *`,
      clock(),
    );
    const files = rows.map(fileFromRow);
    for (const [owner, held] of Map.groupBy(files, (file) => file.owner)) {
      const bytes = held.reduce((sum, file) => sum + file.size, 0);
      await charge(tx, owner, { bytes: -bytes, files: -held.length }, quotas);
    }
    return files;
  });
}

/**
 * Where the disk is too full to write the deletion down, the bytes go first. That is safe of what has expired: nobody is
 * given it any more, and it cannot be prolonged.
 */
async function freeThenForget(options: FilesOptions): Promise<StoredFile[]> {
  const rows = await options.database.query(
    `SELECT * FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ${batch}`,
    options.clock(),
  );
  for (const row of rows) await removeBytes(options, fileFromRow(row).storageKey);
  return forgetExpired(options);
}

/** One object that cannot be removed must not keep the others; the next start tries it again. */
export async function removeBytes({ storage, log }: FilesOptions, key: string): Promise<boolean> {
  try {
    await storage.remove(key);
    return true;
  } catch (error) {
    log.error('sweep.remove_failed', { key, error });
    return false;
  }
}
