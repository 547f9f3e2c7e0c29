import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerConfig as Config } from '../server/settings.ts';
import { lockFolder } from '../platform/data-folder/data-folder.ts';
import type { Database } from '../ports/database/database.ts';
import { openDatabase } from '../ports/database/open.ts';
import { isWorkcrateError, WorkcrateError } from '../platform/errors.ts';
import { adoptStore, checkSameStore } from '../core/files/stored-file.ts';
import { removeOrphanFiles } from '../core/files/files.ts';
import { verifyFiles } from '../core/files/verify.ts';
import { openUploads } from '../core/links/open-uploads.ts';
import { countCutOffPackings } from '../features/crates/open.ts';
import { getWorkspacesFolder } from '../server/execution.ts';
import { getDatabaseLocation, getSqliteFolder, toStorageOptions } from '../core/store-options.ts';
import { listDamagedPackages } from '../features/packages/packages.ts';
import { openStorage } from '../ports/storage/open.ts';
import type { Storage } from '../ports/storage/storage.ts';
import type { ProgramInput } from './command.ts';

const printText = (text: string): void => void process.stdout.write(`${text}\n`);

/** `workcrate check`: is the database sound, and does storage hold what it says? Exit code 1 if not. */
export async function runCheck({ config, flags }: ProgramInput): Promise<number> {
  const location = getDatabaseLocation(config);
  if (getSqliteFolder(config) !== null && !existsSync(location))
    throw await missingDatabaseError(config, location);
  await using opened = new AsyncDisposableStack();
  const held = tryLockFolder(config.data);
  if (held.lock) opened.use(held.lock);
  const readable = held.isReadOnly ? await copyDatabase(config, opened) : location;
  const database = opened.adopt(await openDatabase(readable), (it) => it.close());
  const storage = opened.adopt(await openStorage(toStorageOptions(config)), (it) => it.close());
  if (flags['adopt-storage'] !== undefined) return await adoptStorage(database, storage, held.lock !== null);
  if (flags['remove-orphans'] !== undefined)
    return await removeAllOrphans({ config, database, storage, isServed: held.isServed });
  const problems = await checkDatabase(database);
  const options = {
    database,
    storage,
    openUploads,
    readData: flags['read-data'] !== undefined,
    report: showProgress,
  };
  const result = await verifyFiles({ ...options, findOrphans: !held.isServed }).catch(describeUnreadable);
  problems.push(...result.problems, ...listDamagedPackages(getWorkspacesFolder(config)));
  for (const problem of problems) printText(`problem: ${problem}`);
  if (held.isServed)
    printText('a server is using this data, so the check for objects without a file was left out');
  const cutOff = held.isServed ? 0 : countCutOffPackings(config);
  if (cutOff > 0)
    printText(`${cutOff} unfinished crates of interrupted packings: the next start removes them`);
  for (const note of [...result.notes, ...(await listQuarantineNotes(storage))]) printText(`note: ${note}`);
  const verdict = problems.length === 0 ? 'all is well' : `${problems.length} problems`;
  printText(`checked ${result.files} files, ${result.bytes} bytes: ${verdict}`);
  return problems.length === 0 ? 0 : 1;
}

async function checkDatabase(database: Database): Promise<string[]> {
  const { by, problems } = await database.verify();
  if (problems.length === 0) return [];
  const advice = `the database is damaged (found by ${by}): stop the server and restore it from a backup`;
  return [advice, ...problems.map((problem) => `database: ${problem}`)];
}

/** A damaged database may fail in the middle. */
function describeUnreadable(error: unknown) {
  if (!isWorkcrateError(error, 'database_failed')) throw error;
  return {
    files: 0,
    bytes: 0,
    problems: [`files could not be compared with the database: ${error.message}`],
    notes: [],
  };
}

async function adoptStorage(database: Database, storage: Storage, isHeld: boolean): Promise<number> {
  if (!isHeld)
    throw new WorkcrateError(
      'data_in_use',
      'Stop the server first: --adopt-storage ties the database to another storage.',
    );
  await adoptStore(database, storage);
  printText('The database now uses this storage. Links to files that are not in it return 410.');
  return 0;
}

interface OrphanRemoval {
  readonly config: Config;
  readonly database: Database;
  readonly storage: Storage;
  readonly isServed: boolean;
}

/** In a shared store, servers may go on: what is younger than a day is left alone. */
async function removeAllOrphans({ config, database, storage, isServed }: OrphanRemoval): Promise<number> {
  if (isServed && !storage.isShared)
    throw new WorkcrateError(
      'data_in_use',
      'Stop the server first: it may be storing files that have no row yet.',
    );
  const store = toStorageOptions(config);
  using _lock = store.kind === 'disk' && store.directory !== config.data ? lockFolder(store.directory) : null;
  await checkSameStore(database, storage);
  const { removed, fromQuarantine } = await removeOrphanFiles({
    database,
    storage,
    openUploads,
    clock: Date.now,
  });
  printText(`removed ${removed} objects that belong to no file, and ${fromQuarantine} from quarantine`);
  return 0;
}

async function listQuarantineNotes(storage: Storage): Promise<string[]> {
  const days = (await storage.quarantine?.list()) ?? [];
  return days.map(
    ({ day, objects, bytes }) =>
      `quarantine/${day} in the files folder holds ${objects} objects, ${bytes} bytes, that belong to no file; they are ` +
      'deleted 30 days later. If the database was restored since, move them back to objects/ while no server runs',
  );
}

/** Says what there is instead: files without their database must not be taken for nothing. */
async function missingDatabaseError(config: Config, location: string): Promise<WorkcrateError> {
  const store = toStorageOptions(config);
  const objects = store.kind === 'disk' ? join(store.directory, 'objects/files') : null;
  if (objects === null || !existsSync(objects) || (await readdir(objects)).length === 0)
    return new WorkcrateError(
      'not_found',
      `There is no data in ${config.data} yet. Set the folder with --data.`,
    );
  return new WorkcrateError(
    'not_found',
    `The database ${location} is missing, but there are files in ${objects}. Put the database back from a backup, or ` +
      'set its location with --database. The server does not start without it, and removes no files.',
  );
}

interface FolderLock {
  readonly lock: Disposable | null;
  readonly isServed: boolean;
  readonly isReadOnly: boolean;
}

function tryLockFolder(folder: string): FolderLock {
  try {
    return { lock: lockFolder(folder), isServed: false, isReadOnly: false };
  } catch (error) {
    if (isWorkcrateError(error, 'data_in_use')) return { lock: null, isServed: true, isReadOnly: false };
    if (isWorkcrateError(error, 'storage_read_only'))
      return { lock: null, isServed: false, isReadOnly: true };
    throw error;
  }
}

/** SQLite cannot read a database with its write-ahead log where it may not write. */
async function copyDatabase(config: Config, opened: AsyncDisposableStack): Promise<string> {
  const location = getDatabaseLocation(config);
  if (getSqliteFolder(config) === null) return location;
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-check-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const copy = join(folder, 'copy.db');
  await cp(location, copy);
  if (existsSync(`${location}-wal`)) await cp(`${location}-wal`, `${copy}-wal`);
  return copy;
}

function showProgress(checked: number): void {
  if (process.stderr.isTTY && checked % 100 === 0) process.stderr.write(`\r${checked} files …`);
}
