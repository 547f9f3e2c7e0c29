import { randomBytes } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';
import { collectText } from '../streams.ts';
import { program } from '../program.ts';

const key = 'store-id';

/**
 * Makes sure that this database and this storage belong together, and ties them where both are new. Bytes that no row
 * knows are deleted: with the wrong database, that would be all of them. And with the wrong storage, such as a folder
 * that is not mounted, all links would be dead, and new files would go where nobody looks for them. The database
 * decides, so that several servers that tie it at once agree, and two databases never share a storage.
 */
export async function demandSameStore(database: Database, storage: Storage): Promise<void> {
  if (!storage.isLasting) return;
  const { id, isTied } = await idInDatabase(database);
  const there = await readId(storage);
  if (there === id) return noteTied(database, isTied);
  if (await holdsFiles(storage)) {
    // Another server on the same database may have tied them, and taken in files, since the first look.
    if ((await readId(storage)) === id) return;
    throw ofAnother();
  }
  if (isTied || (await knowsFiles(database))) throw notTheOne();
  await tie(database, storage, id, there);
}

/** Ties a database to an empty storage, although it belonged to another: its files are given up. */
export async function adoptStore(database: Database, storage: Storage): Promise<void> {
  const { id } = await idInDatabase(database);
  const there = await readId(storage);
  if (there === id) return;
  if (await holdsFiles(storage)) throw ofAnother();
  await tie(database, storage, id, there);
}

/** Whether they still belong together. */
export async function isSameStore(database: Database, storage: Storage): Promise<boolean> {
  if (!storage.isLasting) return true;
  const [row] = await database.query<{ id: string }>('SELECT id FROM store');
  return (await readId(storage)) === (row?.id ?? null);
}

async function tie(database: Database, storage: Storage, id: string, there: string | null): Promise<void> {
  // An empty folder is this process's own; in a store that others use, an id is the sign of one of them.
  if (there !== null && !storage.isShared) await storage.remove(key);
  if (!(await create(storage, id)) && (await readId(storage)) !== id) throw ofAnother();
  await noteTied(database, false);
}

async function noteTied(database: Database, isTied: boolean): Promise<void> {
  if (!isTied) await database.query('UPDATE store SET is_tied = 1');
}

async function idInDatabase(database: Database): Promise<{ id: string; isTied: boolean }> {
  await database.query(
    'INSERT INTO store (id) VALUES (?) ON CONFLICT DO NOTHING',
    randomBytes(16).toString('hex'),
  );
  const [row] = await database.query<{ id: string; is_tied: number }>('SELECT id, is_tied FROM store');
  return { id: row!.id, isTied: row!.is_tied === 1 };
}

/** False where another has made one. */
async function create(storage: Storage, id: string): Promise<boolean> {
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(id);
  };
  const staged = `${key}-${randomBytes(12).toString('hex')}`;
  try {
    await storage.staging.append(staged, 0, bytes());
    await storage.staging.commit(staged, key);
    return true;
  } catch (error) {
    if (!isWorkcrateError(error, 'already_exists')) throw error;
    return false;
  } finally {
    await storage.staging.discard(staged);
  }
}

async function readId(storage: Storage): Promise<string | null> {
  await using object = await storage.open(key);
  if (object === null) return null;
  return await collectText(object.read(0, object.size));
}

async function holdsFiles(storage: Storage): Promise<boolean> {
  return (await storage.list({ prefix: 'files/', limit: 1 })).objects.length > 0;
}

async function knowsFiles(database: Database): Promise<boolean> {
  return (await database.query('SELECT id FROM files LIMIT 1')).length > 0;
}

function ofAnother(): WorkcrateError {
  return new WorkcrateError(
    'data_mismatch',
    'The stored files belong to another database. Start with the database that they belong to ' +
      '(several servers need the same --database), or choose an empty folder, bucket or prefix (--files-dir, --s3-prefix, ' +
      `--azure-prefix). Nothing was changed. If that database is gone for good, remove the object ${key}.`,
  );
}

function notTheOne(): WorkcrateError {
  return new WorkcrateError(
    'data_mismatch',
    'The storage for files is empty, and is not the one that belongs to this database. Perhaps it is not mounted, or ' +
      '--files-dir, the bucket or the prefix changed. Mount it, or set the one that was used. Several ' +
      'servers with one database need one storage that all of them can reach: --storage s3 or azure. Nothing was changed. If ' +
      `the files are lost for good, run ${program} check --adopt-storage to continue with this empty storage.`,
  );
}
