/**
 * Which database writes to a store that several servers can reach. A restored copy of a database has the id of the
 * store too, but not its newest rows: to a server on the copy, the newest files would be bytes without a row.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { programName } from '../../platform/program.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { collectText } from '../../platform/streams.ts';

const writerKey = 'store-writer';
/** Made anew now and then by the servers of the writer: its age says when one of them was last there. */
const seenKey = 'store-seen';

/**
 * Makes sure that this database is the one that writes to a shared store; the first one becomes it. The database is told
 * from its copies by what a dump does not hold (`Database.identify`).
 */
export async function checkStoreWriter(database: Database, storage: Storage): Promise<void> {
  if (!isWatched(storage)) return;
  const own = await toWriterText(database);
  if ((await readStoredText(storage, writerKey)) === null) await writeOnce(storage, writerKey, own);
  const writer = await readStoredText(storage, writerKey);
  if (writer !== own) throw await otherWriterError(storage);
  await recordSeen(storage);
}

/** Whether this database still is the one that writes there: another may have taken the store over. */
export async function isStoreWriter(database: Database, storage: Storage): Promise<boolean> {
  if (!isWatched(storage)) return true;
  return (await readStoredText(storage, writerKey)) === (await toWriterText(database));
}

/** Makes this database the one that writes there. Servers of the other one stop sweeping and storing. */
export async function takeOverStore(database: Database, storage: Storage): Promise<void> {
  if (!isWatched(storage) || (await isStoreWriter(database, storage))) return;
  await storage.remove(writerKey);
  await checkStoreWriter(database, storage);
}

/** Notes that a server of the writer was there. Several may do so at once: one of them is enough. */
async function recordSeen(storage: Storage): Promise<void> {
  if (!isWatched(storage)) return;
  await storage.remove(seenKey);
  await writeOnce(storage, seenKey, 'its time is when a server was last here');
}

interface StoreWatchOptions {
  readonly database: Database;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
}

const seenEveryMs = 60 * 60 * 1000;

/** Another database may take a shared store over while this server runs: then it sweeps and stores no more. */
export function createWriterWatch({ database, storage, clock, log }: StoreWatchOptions) {
  let lost: WorkcrateError | null = null;
  let nextSeen = 0;
  return {
    demand(): void {
      if (lost !== null) throw lost;
    },
    /** Whether this database still writes there. */
    async look(): Promise<boolean> {
      lost = (await isStoreWriter(database, storage)) ? null : await otherWriterError(storage);
      if (lost !== null) log.error('sweep.store_taken_over', { error: lost });
      else if (clock() >= nextSeen) {
        nextSeen = clock() + seenEveryMs;
        await recordSeen(storage);
      }
      return lost === null;
    },
  };
}

/** A store that only one process can use is locked by it, and its database is restored together with it. */
const isWatched = ({ isShared, isLasting }: Storage): boolean => isShared && isLasting;

/** What identifies a database says where it is, which is nobody's business who can read the store. */
async function toWriterText(database: Database): Promise<string> {
  return createHash('sha256')
    .update(await database.identify())
    .digest('hex');
}

async function otherWriterError(storage: Storage): Promise<WorkcrateError> {
  const seen = await storage.stat(seenKey);
  const when = seen === null ? '' : `, last at ${new Date(seen.modified).toISOString()}`;
  return new WorkcrateError(
    'data_mismatch',
    `Another database writes to the store of files${when}, so this one is a copy of it. A server on a copy would ` +
      'delete files that the copy does not know; nothing was changed. To try a backup, compare the copy with the store: ' +
      `${programName} check --read-data, with the --database of the copy. If this database takes the place of the other for ` +
      `good, stop all servers of the other one and run ${programName} check --adopt-storage.`,
  );
}

/** Writes an object that must not be there yet. Returns false where another server has written one. */
export async function writeOnce(storage: Storage, key: string, text: string): Promise<boolean> {
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
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

export async function readStoredText(storage: Storage, key: string): Promise<string | null> {
  await using object = await storage.open(key);
  if (object === null) return null;
  return await collectText(object.read(0, object.size));
}
