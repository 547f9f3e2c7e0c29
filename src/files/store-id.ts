import { randomBytes } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';

const key = 'store-id';

/**
 * Makes sure that this database and this storage belong together, and ties them where they are new. Bytes
 * that no row knows are deleted: with the wrong database, that would be all of them. The database decides, so that
 * several servers that tie it at once agree, and two databases never share a storage.
 */
export async function demandSameStore(database: Database, storage: Storage): Promise<void> {
  const id = await idInDatabase(database);
  const there = await readId(storage);
  if (there === id) return;
  if (await holdsFiles(storage)) {
    // Another server on the same database may have tied them, and taken in files, since the first look.
    if ((await readId(storage)) === id) return;
    throw mismatch();
  }
  // An empty folder is this process's own; in a store that others use, an id is the sign of one of them.
  if (there !== null && !storage.isShared) await storage.remove(key);
  if (!(await create(storage, id)) && (await readId(storage)) !== id) throw mismatch();
}

/** Whether they still belong together. */
export async function isSameStore(database: Database, storage: Storage): Promise<boolean> {
  return (await readId(storage)) === (await idInDatabase(database));
}

async function idInDatabase(database: Database): Promise<string> {
  await database.query(
    'INSERT INTO store (id) VALUES (?) ON CONFLICT DO NOTHING',
    randomBytes(16).toString('hex'),
  );
  const [row] = await database.query<{ id: string }>('SELECT id FROM store');
  return row!.id;
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
  let text = '';
  for await (const chunk of object.read(0, object.size)) text += Buffer.from(chunk).toString('utf8');
  return text;
}

async function holdsFiles(storage: Storage): Promise<boolean> {
  return (await storage.list({ prefix: 'files/', limit: 1 })).objects.length > 0;
}

function mismatch(): WorkcrateError {
  return new WorkcrateError(
    'data_mismatch',
    'The place for files belongs to another database than the one given. Start with the database that it belongs to ' +
      '(several servers need the same --database), or choose an empty place (--files-dir, --s3-prefix, ' +
      `--azure-prefix). Nothing was changed. If that database is gone for good, remove the object ${key}.`,
  );
}
