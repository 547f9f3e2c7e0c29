import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../database/database.ts';
import { isWorkcrateError } from '../errors.ts';
import type { Staged, Storage } from '../storage/storage.ts';
import type { FilesOptions } from './files.ts';
import { chargeQuota } from './quota.ts';
import { fileFromRow, toFileId, type StoredFile } from './stored-file.ts';

const sweepBatch = 500;

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
 * Where the disk is too full to write the deletion down, the bytes go first. That is safe of what has expired: nobody is
 * given it any more, and it cannot be prolonged.
 */
async function freeThenForget(options: FilesOptions): Promise<StoredFile[]> {
  const rows = await options.database.query(
    `SELECT * FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ${sweepBatch}`,
    options.clock(),
  );
  for (const row of rows) await removeBytes(options, fileFromRow(row).storageKey);
  return forgetExpired(options);
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

/** What this room has to know of uploads under way, which it does not keep: their bytes are no orphans. */
export interface OpenUploads {
  /** Those of the ids whose upload is not completed; `synced`: of which bytes were acknowledged. */
  find(database: Queries, ids: readonly string[], which: 'all' | 'synced'): Promise<string[]>;
  /** Whether an upload may still be gone on with at this time. */
  isOpen(database: Queries, id: string, at: number): Promise<boolean>;
  /** A SELECT of `owner` and `reserved`, the bytes that are promised, for one statement with other tables. */
  readonly reservedSql: string;
}

interface Stores {
  readonly database: Database;
  readonly storage: Storage;
  readonly openUploads: OpenUploads;
  readonly clock: Clock;
}

/** A crash leaves a few objects without a row. More than these are a sign that rows were lost. */
const mostLeftByCrash = 8;

/** How long objects stay in quarantine. */
const quarantineDays = 30;
const quarantineDayMs = 24 * 60 * 60 * 1000;

/** What became of bytes that no row knew. */
export interface SweptOrphans {
  readonly removed: number;
  readonly quarantined: number;
}

/**
 * Deletes bytes that no row knows and nobody is going to give one. Where they are more than a crash leaves, rows may
 * have been lost, as with a damaged database: then objects are put aside rather than deleted, where the storage can.
 */
export async function sweepOrphans(
  options: FilesOptions,
  stagingInUse: ReadonlySet<string>,
): Promise<SweptOrphans> {
  const keys = await Array.fromAsync(listOrphans(options));
  const mustKeep = isSuspicious(options.storage, keys.length);
  let [removed, quarantined] = [0, 0];
  for (const key of keys)
    if (mustKeep) quarantined += (await quarantineObject(options, key)) ? 1 : 0;
    else removed += (await removeBytes(options, key)) ? 1 : 0;
  for await (const { id } of findAbandonedUploads(options, options.clock())) {
    if (stagingInUse.has(id)) continue;
    await options.storage.staging.discard(id);
    removed++;
  }
  return { removed, quarantined };
}

/** Whether so many objects without a row are more than a crash leaves. */
export const isSuspicious = ({ quarantine }: Storage, objects: number): boolean =>
  quarantine !== undefined && objects > mostLeftByCrash;

/** What cannot be moved, such as on a full disk, stays where it is; the next start tries again. */
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

/** The keys of objects that no row knows. */
export async function* listOrphans(stores: Stores): AsyncGenerator<string> {
  for (let after: string | null = ''; after !== null;) {
    const page = await stores.storage.list({ prefix: 'files/', after, limit: 500 });
    const keys = page.objects.filter((object) => isOldEnough(stores, object)).map(({ key }) => key);
    yield* await filterUnknownKeys(stores, keys);
    after = page.next;
  }
}

/**
 * Nor what parts of an open upload became that were acknowledged: they are staged again when their sender goes on. Where
 * others write too, neither what an open upload may be about to become: S3 may date it from its beginning.
 */
async function filterUnknownKeys(
  { database, storage, openUploads }: Stores,
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

/** Staged bytes go on living only for an upload that may still be gone on with at this time. */
export async function* findAbandonedUploads(stores: Stores, at: number): AsyncGenerator<Staged> {
  const { database, storage, openUploads } = stores;
  for (const staged of await storage.staging.list())
    if (isOldEnough(stores, staged) && !(await openUploads.isOpen(database, staged.id, at))) yield staged;
}

/** In a storage that other processes use too, bytes without a row may be about to get theirs. */
const sharedGraceMs = 24 * 60 * 60 * 1000;

const isOldEnough = ({ storage, clock }: Stores, { modified }: { readonly modified: number }): boolean =>
  !storage.isShared || modified < clock() - sharedGraceMs;
