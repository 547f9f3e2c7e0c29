/**
 * The row of a stored file, the key of its bytes, and the check that a database and a storage belong together. It does not
 * write bytes (`files.ts` does) and does not look for damage (`verify.ts` does).
 */
import { randomBytes } from 'node:crypto';
import type { Database, Queries, Row } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { programName } from '../../platform/program.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { checkStoreWriter, readStoredText, takeOverStore, writeOnce } from './store-writer.ts';

/** An owned, immutable, hashed object in storage. */
export interface StoredFile {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  readonly crc32: number;
  /** How it came here: `upload`, `share`, … */
  readonly origin: string;
  readonly storageKey: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export async function insertFile(tx: Queries, file: StoredFile): Promise<void> {
  await tx.query(
    `INSERT INTO files (id, owner, name, media_type, size, sha256, crc32, origin, storage_key, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    file.id,
    file.owner,
    file.name,
    file.mediaType,
    file.size,
    file.sha256,
    file.crc32,
    file.origin,
    file.storageKey,
    file.createdAt,
    file.expiresAt,
  );
}

/** What a link needs of its file. */
export type LinkedFile = Pick<
  StoredFile,
  'name' | 'mediaType' | 'size' | 'sha256' | 'storageKey' | 'createdAt'
>;

/** Joins files to rows of another room: one query for both, where two would be made for every download. */
export const joinFileSql = (idColumn: string): string => `LEFT JOIN files ON files.id = ${idColumn}`;

/** The columns that `readLinkedFile` reads, beside those of another table. */
export const linkedFileSql = `files.name, files.media_type, files.size, files.sha256, files.storage_key,
  files.created_at AS file_created_at`;

/** Null where the file is gone. */
export function readLinkedFile(row: Row): LinkedFile | null {
  if (row['storage_key'] === null) return null;
  return {
    name: row['name'] as string,
    mediaType: row['media_type'] as string,
    size: row['size'] as number,
    sha256: row['sha256'] as string,
    storageKey: row['storage_key'] as string,
    createdAt: row['file_created_at'] as number,
  };
}

export function fileFromRow(row: Row): StoredFile {
  return {
    id: row['id'] as string,
    owner: row['owner'] as string,
    name: row['name'] as string,
    mediaType: row['media_type'] as string,
    size: row['size'] as number,
    sha256: row['sha256'] as string,
    crc32: row['crc32'] as number,
    origin: row['origin'] as string,
    storageKey: row['storage_key'] as string,
    createdAt: row['created_at'] as number,
    expiresAt: row['expires_at'] as number,
  };
}

/** For readers that find other bytes than were sent. Nothing made of them may be handed out. */
export function fileDamagedError({ id, name }: Pick<StoredFile, 'id' | 'name'>): WorkcrateError {
  return new WorkcrateError(
    'file_damaged',
    `The stored bytes of ${name} (${id}) are damaged: their sha256 changed. Send the file again, ` +
      `and ask the operator to run ${programName} check --read-data.`,
    { details: { fileId: id } },
  );
}

/**
 * The storage key for bytes that are staged under this id. An id ends in 24 hex digits, which become the id of the
 * file, so that a store that cannot rename may write the bytes there from the start.
 */
export function toStorageKey(stagingId: string): string {
  const id = stagingId.slice(-24);
  return `files/${id.slice(0, 2)}/${id}`;
}

export const toFileId = (key: string): string => `file_${key.slice(key.lastIndexOf('/') + 1)}`;

/** Whether a file has these bytes. */
export async function isKnownStorageKey(database: Queries, key: string): Promise<boolean> {
  return (await database.query('SELECT id FROM files WHERE id = ?', toFileId(key))).length > 0;
}

const storeIdKey = 'store-id';

/**
 * Makes sure that this database and this storage belong together, and ties them where both are new. Bytes without a row
 * are deleted: with the wrong database, those would be all bytes. With the wrong storage, such as a folder that is not
 * mounted, all links would be dead, and new files would be stored in the wrong place. The database decides, so that
 * several servers that tie it at once agree, and two databases never share a storage.
 */
export async function checkSameStore(database: Database, storage: Storage): Promise<void> {
  if (!storage.isLasting) return;
  await checkTiedStore(database, storage);
  await checkStoreWriter(database, storage);
}

async function checkTiedStore(database: Database, storage: Storage): Promise<void> {
  const { id, isTied } = await readOrCreateStoreId(database);
  const there = await readStoreId(storage);
  if (there === id) return recordTied(database, isTied);
  if (await hasStoredFiles(storage)) {
    // Another server on the same database may have tied them, and stored files, since the first look.
    if ((await readStoreId(storage)) === id) return;
    throw otherDatabaseError();
  }
  if (isTied || (await hasFileRows(database))) throw wrongStorageError();
  await tieStore(database, storage, id, there);
}

/**
 * Ties a database to an empty storage, although it belonged to another, whose files are given up; or has a restored
 * database take the place of the one that it is a copy of.
 */
export async function adoptStore(database: Database, storage: Storage): Promise<void> {
  const { id } = await readOrCreateStoreId(database);
  const there = await readStoreId(storage);
  if (there !== id) {
    if (await hasStoredFiles(storage)) throw otherDatabaseError();
    await tieStore(database, storage, id, there);
  }
  await takeOverStore(database, storage);
}

/** Whether they still belong together. */
export async function isSameStore(database: Database, storage: Storage): Promise<boolean> {
  if (!storage.isLasting) return true;
  const [row] = await database.query<{ id: string }>('SELECT id FROM store');
  return (await readStoreId(storage)) === (row?.id ?? null);
}

async function tieStore(
  database: Database,
  storage: Storage,
  id: string,
  there: string | null,
): Promise<void> {
  // An empty folder is this process's own; in a store that others use, an id is the sign of one of them.
  if (there !== null && !storage.isShared) await storage.remove(storeIdKey);
  if (!(await writeOnce(storage, storeIdKey, id)) && (await readStoreId(storage)) !== id)
    throw otherDatabaseError();
  await recordTied(database, false);
}

async function recordTied(database: Database, isTied: boolean): Promise<void> {
  if (!isTied) await database.query('UPDATE store SET is_tied = 1');
}

async function readOrCreateStoreId(database: Database): Promise<{ id: string; isTied: boolean }> {
  await database.query(
    'INSERT INTO store (id) VALUES (?) ON CONFLICT DO NOTHING',
    randomBytes(16).toString('hex'),
  );
  const [row] = await database.query<{ id: string; is_tied: number }>('SELECT id, is_tied FROM store');
  return { id: row!.id, isTied: row!.is_tied === 1 };
}

const readStoreId = (storage: Storage): Promise<string | null> => readStoredText(storage, storeIdKey);

async function hasStoredFiles(storage: Storage): Promise<boolean> {
  return (await storage.list({ prefix: 'files/', limit: 1 })).objects.length > 0;
}

async function hasFileRows(database: Database): Promise<boolean> {
  return (await database.query('SELECT id FROM files LIMIT 1')).length > 0;
}

function otherDatabaseError(): WorkcrateError {
  return new WorkcrateError(
    'data_mismatch',
    'The stored files belong to another database. Start with the database that they belong to ' +
      '(several servers need the same --database), or choose an empty folder, bucket or prefix (--files-dir, --s3-prefix, ' +
      `--azure-prefix). Nothing was changed. If that database is gone for good, remove the object ${storeIdKey}.`,
  );
}

function wrongStorageError(): WorkcrateError {
  return new WorkcrateError(
    'data_mismatch',
    'The storage for files is empty, and is not the one that belongs to this database. Perhaps it is not mounted, or ' +
      '--files-dir, the bucket or the prefix changed. Mount it, or set the one that was used. Several ' +
      'servers with one database need one storage that all of them can reach: --storage s3 or azure. Nothing was changed. If ' +
      `the files are lost for good, run ${programName} check --adopt-storage to continue with this empty storage.`,
  );
}
