import { randomBytes } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';

const key = 'store-id';

/**
 * Makes sure that this database and this storage belong together, and ties them where they are new. Bytes
 * that no row knows are deleted at a start: with the wrong database, that would be all of them.
 */
export async function demandSameStore(database: Database, storage: Storage): Promise<void> {
  if (await isTied(database, storage)) return;
  // Another server may have tied them, and taken in files, since the first look.
  if (await holdsFiles(storage)) {
    if (await isTied(database, storage)) return;
    throw mismatch();
  }
  const known = await idInDatabase(database);
  if (known !== null) await storage.remove(key);
  const id = await idInStorage(storage, known);
  await database.query('INSERT INTO store (id) VALUES (?) ON CONFLICT DO NOTHING', id);
}

async function isTied(database: Database, storage: Storage): Promise<boolean> {
  const id = await idInDatabase(database);
  return id !== null && id === (await readId(storage));
}

async function idInDatabase(database: Database): Promise<string | null> {
  const [row] = await database.query<{ id: string }>('SELECT id FROM store');
  return row?.id ?? null;
}

/** The id that is there, made where there is none. Of several who make one at once, one does. */
async function idInStorage(storage: Storage, known: string | null): Promise<string> {
  const there = await readId(storage);
  if (there !== null) return there;
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(known ?? randomBytes(16).toString('hex'));
  };
  const staged = `${key}-${randomBytes(12).toString('hex')}`;
  try {
    await storage.staging.append(staged, 0, bytes());
    await storage.staging.commit(staged, key);
  } catch (error) {
    if (!isWorkcrateError(error, 'already_exists')) throw error;
  } finally {
    await storage.staging.discard(staged);
  }
  return (await readId(storage))!;
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
    'The stored files belong to another database than the one given. Start with the database that they belong to, ' +
      'or choose an empty place for files (--files-dir, --s3-prefix, --azure-prefix). Nothing was changed.',
  );
}
