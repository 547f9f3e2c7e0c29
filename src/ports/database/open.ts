/**
 * The one list of database backends. Opens one by its URL or path, and applies the migrations. For the composition root
 * and commands only: rooms get a `Database`.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { Database } from './database.ts';
import { dialects } from './dialect.ts';
import { migrate, type Schema } from './migrate.ts';
import { postgresDatabase } from './postgres.ts';
import { sqliteDatabase, type SqliteOptions } from './sqlite.ts';

export { isDamagedDatabase, sqliteQueryError } from './sqlite-errors.ts';

/** Every backend, by the locations that it opens. The first that matches is taken. */
const databaseBackends: {
  location: RegExp;
  open(location: string, options: SqliteOptions): Database | Promise<Database>;
}[] = [
  { location: /^postgres(ql)?:\/\//i, open: postgresDatabase },
  // A path, and no URL of a database that is not supported.
  { location: /^(?![a-z][a-z0-9+.-]*:\/\/)./i, open: sqliteDatabase },
];

/** Opens a `postgres://` URL or a SQLite file, and brings its schema up to date. */
export async function openDatabase(
  location: string,
  schema: Schema = 'main',
  options: SqliteOptions = {},
): Promise<Database> {
  const database = await openBackend(location, options);
  try {
    await migrate(database, schema);
    const { afterMigrating } = dialects[database.kind];
    if (afterMigrating !== null) await database.query(afterMigrating);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Finds out whether a database answers, and leaves it as it is. */
export async function reachDatabase(location: string): Promise<void> {
  const database = await openBackend(location);
  try {
    await database.query('SELECT 1');
  } finally {
    await database.close();
  }
}

/** Opens it as it is, whatever its schema. */
export async function openBackend(location: string, options: SqliteOptions = {}): Promise<Database> {
  return checkBackend(location).open(location, options);
}

/** Refuses what is neither a URL of PostgreSQL nor the path of a file. It opens nothing. */
export function checkBackend(location: string): (typeof databaseBackends)[number] {
  const backend = databaseBackends.find((candidate) => candidate.location.test(location));
  if (backend === undefined) throw unsupportedDatabaseError();
  return backend;
}

function unsupportedDatabaseError(): WorkcrateError {
  return new WorkcrateError(
    'config_invalid',
    'The database is a URL that begins with postgres://, or the path of a SQLite file.',
  );
}
