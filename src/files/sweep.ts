import type { FilesOptions } from './files.ts';
import { charge } from './quota.ts';
import { fileFromRow, type StoredFile } from './stored-file.ts';

const batch = 500;

/** Rows go first, then bytes: a crash between leaves bytes without a row, which the next start removes. */
export async function sweepFiles(options: FilesOptions): Promise<number> {
  let count = 0;
  for (;;) {
    const expired = await forgetExpired(options);
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

/** One object that cannot be removed must not keep the others; the next start tries it again. */
async function removeBytes({ storage, log }: FilesOptions, key: string): Promise<boolean> {
  try {
    await storage.remove(key);
    return true;
  } catch (error) {
    log.error('sweep.remove_failed', { key, error });
    return false;
  }
}

export async function sweepOrphans(options: FilesOptions, inHand: ReadonlySet<string>): Promise<number> {
  const { database, storage } = options;
  let count = 0;
  for (let after: string | null = ''; after !== null;) {
    const page = await storage.list({ prefix: 'files/', after });
    for (const object of page.objects) {
      const known = await database.query('SELECT id FROM files WHERE id = ?', idOfKey(object.key));
      if (known.length === 0 && (await removeBytes(options, object.key))) count++;
    }
    after = page.next;
  }
  return count + (await sweepStaging(options, inHand));
}

export const idOfKey = (key: string): string => `file_${key.slice(key.lastIndexOf('/') + 1)}`;

/** Staged bytes go on living only for an upload that may still be gone on with. */
async function sweepStaging(
  { database, storage, clock }: FilesOptions,
  inHand: ReadonlySet<string>,
): Promise<number> {
  let count = 0;
  for (const id of await storage.staging.list()) {
    const open = await database.query(
      'SELECT id FROM uploads WHERE id = ? AND completed_at IS NULL AND expires_at > ?',
      id,
      clock(),
    );
    if (open.length > 0 || inHand.has(id)) continue;
    await storage.staging.discard(id);
    count++;
  }
  return count;
}
