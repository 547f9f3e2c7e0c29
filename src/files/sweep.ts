import type { FilesOptions } from './files.ts';
import { charge } from './quota.ts';
import { isKnown } from './storage-key.ts';
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
    for (const { key } of page.objects.filter((object) => isOldEnough(options, object)))
      if (!(await isKnown(database, key)) && (await removeBytes(options, key))) count++;
    after = page.next;
  }
  return count + (await sweepStaging(options, inHand));
}

/** In a storage that other processes use too, bytes without a row may be about to get theirs. */
const sharedGraceMs = 24 * 60 * 60 * 1000;

const isOldEnough = ({ storage, clock }: FilesOptions, { modified }: { modified: number }): boolean =>
  !storage.isShared || modified < clock() - sharedGraceMs;

/** Staged bytes go on living only for an upload that may still be gone on with. */
async function sweepStaging(options: FilesOptions, inHand: ReadonlySet<string>): Promise<number> {
  const { database, storage, clock } = options;
  let count = 0;
  const staged = await storage.staging.list();
  for (const { id } of staged.filter((one) => isOldEnough(options, one))) {
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
