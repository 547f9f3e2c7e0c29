/**
 * The door of this room: stored files, whose bytes are in storage and whose rows are in the database. It adds, finds,
 * lists, extends and deletes them within quotas. It makes no links and answers no requests (`core/links/` does both).
 */
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { lookup } from 'mime-types';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { cleanFilename } from '../../platform/text/filenames.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { OpenObject, Storage } from '../../ports/storage/storage.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { chargeQuota, type Quotas } from './quota.ts';
import { listStoredFiles, type FilePage, type FilePageOptions } from './list.ts';
import {
  fileFromRow,
  toFileId,
  insertFile,
  isKnownStorageKey,
  toStorageKey,
  type StoredFile,
} from './stored-file.ts';
import { createWriterWatch } from './store-writer.ts';
import {
  createDailyOrphanSweep,
  trustClock,
  sweepFiles,
  sweepOrphans,
  sweepQuarantine,
  type OpenUploads,
  type SweptOrphans,
} from './sweep.ts';

export { checkWritable, listUsage, readTotalUsage, readUsage, usageOwnersSql, type Quotas } from './quota.ts';
export {
  fileDamagedError,
  fileFromRow,
  joinFileSql,
  toStorageKey,
  linkedFileSql,
  readLinkedFile,
  type LinkedFile,
  type StoredFile,
} from './stored-file.ts';
export { removeOrphanFiles, type OpenUploads, type SweptOrphans } from './sweep.ts';

/** What is known of a file before it is stored. */
export interface NewFile {
  readonly name: string;
  readonly mediaType?: string;
  readonly origin: string;
  readonly keepSeconds: number;
}

export interface FilesOptions {
  readonly database: Database;
  readonly storage: Storage;
  readonly openUploads: OpenUploads;
  readonly quotas: Quotas;
  readonly maxFileSize: number;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Rejects with `storage_full` where the database and this many more bytes would not leave enough of the disk free.
   */
  readonly demandSpace?: (bytes: number) => Promise<void>;
}

export type Files = ReturnType<typeof createFiles>;

/** Stores files: first the bytes in storage, then the row in the database. */
export function createFiles(options: FilesOptions) {
  const { database, storage, quotas, clock } = options;
  /** Ids of staged bytes that this process is working on; the sweep skips them. */
  const stagingInUse = new Set<string>();
  const sweepSharedOrphans = createDailyOrphanSweep(stagingInUse);
  const writer = createWriterWatch(options);
  const demandSpace = (bytes: number): Promise<void> => checkWritableSpace(options, writer, bytes);

  async function keep(
    caller: Caller,
    file: NewFile,
    stagingId: string,
    known: Digest | null,
    settle: (tx: Queries, stored: StoredFile) => Promise<void>,
    accept: (digest: Digest) => void = () => {},
  ): Promise<StoredFile> {
    if (known) accept(known);
    const storageKey = toStorageKey(stagingId);
    await commitStaged(options, stagingId, storageKey);
    try {
      const digest = known ?? (await digestStored(storage, storageKey));
      accept(digest);
      const stored = toStoredFile(caller, file, toFileId(storageKey), storageKey, digest, clock());
      await database.transaction(async (tx) => {
        await settle(tx, stored);
        await insertFile(tx, stored);
      });
      return stored;
    } catch (error) {
      // Here the row may have been written after all. If not, the next start removes the bytes.
      if (!isWorkcrateError(error, 'database_failed')) await storage.remove(storageKey);
      throw error;
    }
  }

  return {
    stagingInUse,
    maxFileSize: options.maxFileSize,

    /**
     * Makes a file of staged bytes, completely or not at all. `settle` runs in the same transaction and has to charge
     * the quota; `accept` may refuse the digest. Bytes whose digest is not known are read again.
     */
    keep,

    /** Stores bytes that the server itself makes or reads. */
    async add(caller: Caller, file: NewFile, bytes: AsyncIterable<Uint8Array>, signal?: AbortSignal) {
      await demandSpace(0);
      const stagingId = `add-${randomBytes(12).toString('hex')}`;
      stagingInUse.add(stagingId);
      try {
        const through = digestWhileReading(boundBytes(bytes, options.maxFileSize));
        await storage.staging.append(stagingId, 0, through.bytes, { signal, key: toStorageKey(stagingId) });
        return await keep(caller, file, stagingId, through.digest(), (tx, stored) =>
          chargeQuota(tx, caller.user, { bytes: stored.size, files: 1 }, quotas),
        );
      } finally {
        await storage.staging.discard(stagingId);
        stagingInUse.delete(stagingId);
      }
    },

    /**
     * Stages bytes again that were committed but got no row, because of a crash or a failure of the database. Returns
     * whether there were any. Their sender can then resume.
     */
    takeBack: (stagingId: string) => restageCommitted(options, stagingId),

    /** Rejects where the disk has no space for so many bytes, before anything is written for them. */
    demandSpace,

    /** Rejects once another database has taken the store over. */
    demandWriter: writer.demand,

    demandQuota: (caller: Caller, size: number) => checkFileQuota({ ...options, demandSpace }, caller, size),

    /** One of the caller's files that has not expired, or null. */
    async find(caller: Caller, id: string): Promise<StoredFile | null> {
      const [row] = await database.query(
        `SELECT * FROM files WHERE id = ? AND owner = ? AND expires_at > ?`,
        id,
        caller.user,
        clock(),
      );
      return row ? fileFromRow(row) : null;
    },

    /** The newest of the caller's files of this name that has not expired, or null. */
    newestNamed: (caller: Caller, name: string) => findNewestNamed(options, caller, name),

    /** A page of the caller's files, newest first. */
    list: (caller: Caller, page: FilePageOptions): Promise<FilePage> =>
      listStoredFiles(options, caller, page),

    /** The open bytes, or null where they are gone although the row is there. */
    open: (file: Pick<StoredFile, 'storageKey'>): Promise<OpenObject | null> => storage.open(file.storageKey),

    /** Whether the store has all bytes, as far as that can be known without reading them. */
    isStored: async ({ storageKey, size }: Pick<StoredFile, 'storageKey' | 'size'>): Promise<boolean> =>
      (await storage.stat(storageKey))?.size === size,

    /** Keeps a file at least until then. False where it does not exist, is not the caller's, or has expired. */
    async extend(tx: Queries, caller: Caller, id: string, until: number): Promise<boolean> {
      const rows = await tx.query(
        `UPDATE files SET expires_at = CASE WHEN expires_at > ? THEN expires_at ELSE ? END
         WHERE id = ? AND owner = ? AND expires_at > ? RETURNING id`,
        until,
        until,
        id,
        caller.user,
        clock(),
      );
      return rows.length > 0;
    },

    /** Deletes a file and its bytes. Its links answer 410 from then on. */
    async remove(caller: Caller, id: string): Promise<boolean> {
      writer.demand();
      const removed = await deleteFileRow(options, caller, id);
      if (removed) await storage.remove(removed.storageKey);
      return removed !== null;
    },

    charge: (tx: Queries, owner: string, bytes: number, files: number) =>
      chargeQuota(tx, owner, { bytes, files }, quotas),

    /** Deletes what has expired, and returns the number of deleted files. */
    async sweep(): Promise<number> {
      if (!(await writer.look())) return 0;
      const trusted = await trustClock(options);
      await sweepSharedOrphans(trusted);
      await sweepQuarantine(trusted);
      return sweepFiles(trusted);
    },

    /**
     * Deletes bytes without a row, as a crash leaves them, or moves them into quarantine where they are many. Called at
     * start, while no other process writes; in a shared storage, which may be large and far away, the sweep does it
     * once a day.
     */
    sweepOrphans: (): Promise<SweptOrphans> => sweepOwnOrphans(options, stagingInUse),
  };
}

async function sweepOwnOrphans(
  options: FilesOptions,
  stagingInUse: ReadonlySet<string>,
): Promise<SweptOrphans> {
  if (options.storage.isShared) return { removed: 0, quarantined: 0, left: 0 };
  return sweepOrphans(await trustClock(options), stagingInUse);
}

async function checkWritableSpace(
  options: FilesOptions,
  writer: { demand(): void },
  bytes: number,
): Promise<void> {
  writer.demand();
  await options.demandSpace?.(bytes);
}

/**
 * Where an earlier write to the database failed without an answer, bytes may be there without a row; the next try
 * replaces them.
 */
async function commitStaged(
  { database, storage }: FilesOptions,
  stagingId: string,
  key: string,
): Promise<void> {
  try {
    await storage.staging.commit(stagingId, key);
  } catch (error) {
    if (!isWorkcrateError(error, 'already_exists') || (await isKnownStorageKey(database, key))) throw error;
    await storage.remove(key);
    await storage.staging.commit(stagingId, key);
  }
}

async function restageCommitted({ database, storage }: FilesOptions, stagingId: string): Promise<boolean> {
  const key = toStorageKey(stagingId);
  if (storage.staging.takeBack === undefined || (await isKnownStorageKey(database, key))) return false;
  return storage.staging.takeBack(key, stagingId);
}

async function findNewestNamed(
  { database, clock }: FilesOptions,
  { user }: Caller,
  name: string,
): Promise<StoredFile | null> {
  const [row] = await database.query(
    `SELECT * FROM files WHERE owner = ? AND name = ? AND expires_at > ?
     ORDER BY created_at DESC, id DESC LIMIT 1`,
    user,
    name,
    clock(),
  );
  return row ? fileFromRow(row) : null;
}

async function deleteFileRow(
  { database, quotas }: FilesOptions,
  caller: Caller,
  id: string,
): Promise<StoredFile | null> {
  return database.transaction(async (tx) => {
    const [row] = await tx.query('DELETE FROM files WHERE id = ? AND owner = ? RETURNING *', id, caller.user);
    if (row) await chargeQuota(tx, caller.user, { bytes: -Number(row['size']), files: -1 }, quotas);
    return row ? fileFromRow(row) : null;
  });
}

async function digestStored(storage: Storage, key: string): Promise<Digest> {
  await using object = await storage.open(key);
  if (object === null) throw new WorkcrateError('storage_failed', 'Bytes just stored are not there.');
  return await computeDigest(object.read(0, object.size));
}

function toStoredFile(
  caller: Caller,
  file: NewFile,
  id: string,
  storageKey: string,
  digest: Digest,
  now: number,
): StoredFile {
  const name = cleanFilename(file.name);
  return {
    id,
    owner: caller.user,
    name,
    mediaType: file.mediaType ?? guessMediaType(name),
    ...digest,
    origin: file.origin,
    storageKey,
    createdAt: now,
    expiresAt: now + file.keepSeconds * 1000,
  };
}

/** Refuses what is known to be too large or over quota before a byte of it is copied. */
async function checkFileQuota(options: FilesOptions, { user }: Caller, size: number): Promise<void> {
  const { database, quotas, maxFileSize } = options;
  if (size > maxFileSize) throw fileTooLargeError(maxFileSize);
  await options.demandSpace?.(size);
  await database.transaction(async (tx) => {
    await chargeQuota(tx, user, { bytes: size, files: 1 }, quotas);
    await chargeQuota(tx, user, { bytes: -size, files: -1 }, quotas);
  });
}

/** Passes bytes through, and throws once there are more than `most`. */
async function* boundBytes(bytes: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > most) throw fileTooLargeError(most);
    yield chunk;
  }
}

export function fileTooLargeError(most: number): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The file has more than ${formatBytes(most)}, which is the limit. Send a smaller file.`,
    {
      details: { limit: most },
    },
  );
}

/** The media type of the extension of a name, or plain bytes. */
export function guessMediaType(name: string): string {
  return lookup(name) || 'application/octet-stream';
}

const mediaTypeForm = /^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}(?:; ?charset=[a-z0-9-]{1,40})?$/i;

/** Whether a media type from a client is safe in a header. */
export function isMediaType(value: string): boolean {
  return mediaTypeForm.test(value);
}

/** Size and hashes of bytes. The CRC is for ZIPs that are made of the file later. */
export interface Digest {
  readonly size: number;
  readonly sha256: string;
  readonly crc32: number;
}

/** Passes bytes through, and has their digest at the end. */
export function digestWhileReading(bytes: AsyncIterable<Uint8Array>): {
  bytes: AsyncIterable<Uint8Array>;
  digest(): Digest;
} {
  const hash = createHash('sha256');
  let size = 0;
  let crc = 0;
  const passed = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      hash.update(chunk);
      crc = crc32(chunk, crc);
      size += chunk.length;
      yield chunk;
    }
  };
  return { bytes: passed(), digest: () => ({ size, sha256: hash.digest('hex'), crc32: crc }) };
}

/** The digest of bytes that are not needed for anything else. */
export async function computeDigest(bytes: AsyncIterable<Uint8Array>): Promise<Digest> {
  const through = digestWhileReading(bytes);
  for await (const _ of through.bytes);
  return through.digest();
}
