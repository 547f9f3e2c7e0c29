import { randomBytes } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { WorkcrateError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';

const key = 'store-id';

/**
 * Makes sure that this database and this storage belong together, and ties them where they are new. Bytes
 * that no row knows are deleted at a start: with the wrong database, that would be all of them.
 */
export async function demandSameStore(database: Database, storage: Storage): Promise<void> {
  const [row] = await database.query<{ id: string }>('SELECT id FROM store');
  const there = await readId(storage);
  if (row && row.id === there) return;
  if (await holdsFiles(storage)) throw mismatch();
  const id = row?.id ?? there ?? randomBytes(16).toString('hex');
  if (there !== id) await writeId(storage, id);
  if (!row) await database.query('INSERT INTO store (id) VALUES (?)', id);
}

async function writeId(storage: Storage, id: string): Promise<void> {
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(id);
  };
  await storage.remove(key);
  await storage.staging.append(key, 0, bytes());
  await storage.staging.commit(key, key);
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
    'The files folder belongs to another database than the one given. Start with the database that it belongs to, ' +
      'or choose an empty folder with --files-dir. Nothing was changed.',
  );
}
