import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import { programName } from '../../platform/program.ts';
import type { Staged, Storage } from '../../ports/storage/storage.ts';
import { readTrustedTime } from '../../ports/database/trusted-clock.ts';
import type { FilesOptions } from './files.ts';
import { chargeQuota } from './quota.ts';
import { fileFromRow, isSameStore, toFileId, type StoredFile } from './stored-file.ts';

const sweepBatch = 500;

/** The same with the time that deletions go by, since nothing brings back what a clock that is ahead has deleted. */
export async function trustClock(options: FilesOptions): Promise<FilesOptions> {
  const now = await readTrustedTime(options.database, options.clock());
  return { ...options, clock: () => now };
}

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
    if (expired.length < sweepBatch) return count;
  }
}

async function forgetExpired({ database, clock, quotas }: FilesOptions): Promise<StoredFile[]> {
  return database.transaction(async (tx) => {
    const rows = await tx.query(
      `DELETE FROM files WHERE id IN (SELECT id FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ${sweepBatch}) RETURNING *`,
      clock(),
    );
    const files = rows.map(fileFromRow);
    for (const [owner, held] of Map.groupBy(files, (file) => file.owner)) {
      const bytes = held.reduce((sum, file) => sum + file.size, 0);
      await chargeQuota(tx, owner, { bytes: -bytes, files: -held.length }, quotas);
    }
    return files;
  });
}

/**
 * Where the disk is too full to record the deletion, the bytes go first. That is safe for expired files: nobody can
 * read them any more, and they cannot be prolonged.
 */
async function freeThenForget(options: FilesOptions): Promise<StoredFile[]> {
  const rows = await options.database.query(
    `SELECT * FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ${sweepBatch}`,
    options.clock(),
  );
  for (const row of rows) await removeBytes(options, fileFromRow(row).storageKey);
  return forgetExpired(options);
}

/** One object that cannot be removed must not stop the others; the next start tries it again. */
async function removeBytes({ storage, log }: FilesOptions, key: string): Promise<boolean> {
  try {
    await storage.remove(key);
    return true;
  } catch (error) {
    log.error('sweep.remove_failed', { key, error });
    return false;
  }
}

/** What this room has to know about uploads in progress, which `core/links/` owns: their bytes are not orphans. */
export interface OpenUploads {
  /** Which of these ids are uploads that are not complete; with `synced`, only those with acknowledged bytes. */
  find(database: Queries, ids: readonly string[], which: 'all' | 'synced'): Promise<string[]>;
  /** Whether an upload can still be resumed at this time. */
  isOpen(database: Queries, id: string, at: number): Promise<boolean>;
  /** A SELECT of `owner` and `reserved`, the reserved bytes, for one statement with other tables. */
  readonly reservedSql: string;
}

interface SweepStores {
  readonly database: Database;
  readonly storage: Storage;
  readonly openUploads: OpenUploads;
  readonly clock: Clock;
}

/** A crash leaves a few objects without a row. More than these are a sign that rows were lost. */
const maxLeftByCrash = 8;

/** How long objects stay in quarantine. */
const quarantineDays = 30;
const quarantineDayMs = 24 * 60 * 60 * 1000;

/** What was done with bytes without a row. */
export interface SweptOrphans {
  readonly removed: number;
  readonly quarantined: number;
  /** Left where they are, until `check --remove-orphans`. */
  readonly left: number;
}

/**
 * Deletes bytes that have no row and will not get one. If they are more than a crash leaves, rows may have been lost, as
 * with a damaged database or an old copy of it. Then objects are moved into quarantine, or left where they are if the
 * storage has none.
 */
export async function sweepOrphans(
  options: FilesOptions,
  stagingInUse: ReadonlySet<string>,
): Promise<SweptOrphans> {
  const { storage, clock } = options;
  const keys = await Array.fromAsync(listOrphans(options));
  const unfinished = (await Array.fromAsync(findAbandonedUploads(options, clock())))
    .map(({ id }) => id)
    .filter((id) => !stagingInUse.has(id));
  const counts = { removed: 0, quarantined: 0, left: 0 };
  const mustKeep = isSuspicious(keys.length + countBegunByOthers(storage, unfinished));
  for (const key of keys)
    if (!mustKeep) counts.removed += (await removeBytes(options, key)) ? 1 : 0;
    else if (storage.quarantine === undefined) counts.left++;
    else if (await quarantineObject(options, key)) counts.quarantined++;
  for (const id of unfinished)
    if (mustKeep && countBegunByOthers(storage, [id]) > 0) counts.left++;
    else {
      await storage.staging.discard(id);
      counts.removed++;
    }
  return counts;
}

const fileDayMs = 24 * 60 * 60 * 1000;

/** In a shared storage there is no start at which no other process writes. */
export function createDailyOrphanSweep(
  stagingInUse: ReadonlySet<string>,
): (options: FilesOptions) => Promise<void> {
  let next = 0;
  return async (options) => {
    const { storage, clock, log } = options;
    if (!storage.isShared || clock() < next) return;
    next = clock() + fileDayMs;
    if (!(await isSameStore(options.database, storage)))
      return log.error('sweep.orphans_left', { reason: 'the store now belongs to another database' });
    const { removed, left } = await sweepOrphans(options, stagingInUse);
    log[removed === 0 ? 'info' : 'warn']('sweep.orphans_removed', { count: removed });
    if (left > 0)
      log.warn('sweep.orphans_left', {
        count: left,
        reason:
          'the database knows none of these files, and they are more than a crash leaves: were rows lost?',
        removed_by: `${programName} check --remove-orphans`,
      });
  };
}

/** Whether so many objects without a row are more than a crash leaves. */
export const isSuspicious = (objects: number): boolean => objects > maxLeftByCrash;

/** In a storage that others use, an upload that this database does not know may be going on all the same. */
const countBegunByOthers = ({ isShared }: Storage, ids: readonly string[]): number =>
  isShared ? ids.filter((id) => id.startsWith('up-')).length : 0;

/**
 * Deletes all bytes without a row, however many, and what is in quarantine: for an operator who knows that no row was
 * lost. Returns how many objects and uploads that were.
 */
export async function removeOrphanFiles(
  stores: SweepStores,
): Promise<{ readonly removed: number; readonly fromQuarantine: number }> {
  const { storage, clock } = stores;
  let [removed, fromQuarantine] = [0, 0];
  for (const key of await Array.fromAsync(listOrphans(stores))) {
    await storage.remove(key);
    removed++;
  }
  for await (const { id } of findAbandonedUploads(stores, clock())) {
    await storage.staging.discard(id);
    removed++;
  }
  for (const { day, objects } of (await storage.quarantine?.list()) ?? []) {
    await storage.quarantine?.drop(day);
    fromQuarantine += objects;
  }
  return { removed, fromQuarantine };
}

/** An object that cannot be moved, such as on a full disk, stays; the next start tries again. */
async function quarantineObject({ storage, clock, log }: FilesOptions, key: string): Promise<boolean> {
  try {
    await storage.quarantine?.take(key, toQuarantineDay(clock()));
    return true;
  } catch (error) {
    log.error('sweep.quarantine_failed', { key, error });
    return false;
  }
}

/** Deletes what has been in quarantine long enough. */
export async function sweepQuarantine({ storage, clock, log }: FilesOptions): Promise<void> {
  const last = toQuarantineDay(clock() - quarantineDays * quarantineDayMs);
  for (const { day, objects, bytes } of (await storage.quarantine?.list()) ?? []) {
    if (day >= last) continue;
    await storage.quarantine?.drop(day);
    log.info('sweep.quarantine_dropped', { day, objects, bytes });
  }
}

const toQuarantineDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Lists the keys of objects without a row. */
export async function* listOrphans(stores: SweepStores): AsyncGenerator<string> {
  for (let after: string | null = ''; after !== null;) {
    const page = await stores.storage.list({ prefix: 'files/', after, limit: 500 });
    const keys = page.objects.filter((object) => isOldEnough(stores, object)).map(({ key }) => key);
    yield* await filterUnknownKeys(stores, keys);
    after = page.next;
  }
}

/**
 * Keys that belong to neither a file nor an upload. The acknowledged bytes of an open upload are kept: they are staged
 * again when its sender resumes. In a shared storage all bytes of open uploads are kept, since S3 may date an object
 * from the beginning of its upload.
 */
async function filterUnknownKeys(
  { database, storage, openUploads }: SweepStores,
  keys: readonly string[],
): Promise<string[]> {
  if (keys.length === 0) return [];
  const marks = keys.map(() => '?').join(', ');
  const files = await database.query<{ id: string }>(
    `SELECT id FROM files WHERE id IN (${marks})`,
    ...keys.map(toFileId),
  );
  const uploads = await openUploads.find(
    database,
    keys.map((key) => `up-${getTrailingDigits(key)}`),
    storage.isShared ? 'all' : 'synced',
  );
  const known = new Set([...files.map(({ id }) => id), ...uploads].map(getTrailingDigits));
  return keys.filter((key) => !known.has(getTrailingDigits(key)));
}

const getTrailingDigits = (name: string): string => name.slice(-24);

/** Lists staged bytes that no upload can resume from at this time. */
export async function* findAbandonedUploads(stores: SweepStores, at: number): AsyncGenerator<Staged> {
  const { database, storage, openUploads } = stores;
  for (const staged of await storage.staging.list())
    if (isOldEnough(stores, staged) && !(await openUploads.isOpen(database, staged.id, at))) yield staged;
}

/** In a shared storage, bytes without a row may be about to get theirs. */
const sharedGraceMs = 24 * 60 * 60 * 1000;

const isOldEnough = ({ storage, clock }: SweepStores, { modified }: { readonly modified: number }): boolean =>
  !storage.isShared || modified < clock() - sharedGraceMs;
