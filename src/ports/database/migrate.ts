/**
 * Applies the migrations, all or none, and refuses a database of a newer release or one made with another text of a
 * migration. It never goes back.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Database, Queries } from './database.ts';
import { dialects } from './dialect.ts';
import { splitStatements } from './sqlite.ts';

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: string[];
  /** Of the statements, so that comments and line breaks may change afterwards. */
  readonly sha256: string;
}

type Applied = { version: number; sha256: string };

/** The same folder from src/ports/database and from a build in dist/database. */

/** What a database can hold, each with migrations of its own. On PostgreSQL both may be in one database. */
const schemaQueries = {
  main: { folder: join(import.meta.dirname, 'migrations'), table: 'schema_migrations' },
  /** The index of crates: it can be rebuilt from their sources, so it is kept apart from what cannot. */
  crates: { folder: join(import.meta.dirname, 'crate-migrations'), table: 'crate_schema_migrations' },
} as const;

export type Schema = keyof typeof schemaQueries;

/** Any number will do, as long as nothing else in the database locks it. */
const migrationLock = 7_263_541_009;

/** Brings the schema up to date, whole or not at all. Several processes may do so at once. */
export const migrate = async (database: Database, schema: Schema = 'main'): Promise<void> =>
  applyMigrations(database, schema, await readMigrations(database, schema));

/** Makes the schema of an earlier release, for tests of the way from there. */
export async function migrateTo(database: Database, version: number): Promise<void> {
  const known = await readMigrations(database, 'main');
  await applyMigrations(
    database,
    'main',
    known.filter((migration) => migration.version <= version),
  );
}

async function applyMigrations(database: Database, schema: Schema, known: Migration[]): Promise<void> {
  await database.transaction(async (tx) => {
    const { lockMigrations } = dialects[database.kind];
    if (lockMigrations !== null) await tx.query(lockMigrations, migrationLock);
    const applied = await readApplied(tx, schema);
    refuseNewer(known, applied);
    refuseChanged(known, applied);
    const done = new Set(applied.map(({ version }) => version));
    for (const migration of known)
      if (!done.has(migration.version)) await applyMigration(tx, schema, migration);
  });
}

/** Those of `0001-name.sql`, and of `0001-name.KIND.sql` where it is a database of that kind. */
async function readMigrations({ kind }: Database, schema: Schema): Promise<Migration[]> {
  const { folder } = schemaQueries[schema];
  const names = (await readdir(folder)).filter((name) => {
    const form = /^\d{4}-[^.]+(?:\.(?<only>[a-z]+))?\.sql$/.exec(name);
    return form !== null && (form.groups?.['only'] ?? kind) === kind;
  });
  return Promise.all(names.toSorted().map((file) => readMigration(folder, file)));
}

async function readMigration(folder: string, file: string): Promise<Migration> {
  const statements = splitStatements(await readFile(join(folder, file), 'utf8'));
  const sha256 = createHash('sha256').update(statements.join(';\n')).digest('hex');
  return { version: Number(file.slice(0, 4)), name: file.slice(5, -'.sql'.length), statements, sha256 };
}

async function readApplied(tx: Queries, schema: Schema): Promise<Applied[]> {
  await tx.query(`CREATE TABLE IF NOT EXISTS ${schemaQueries[schema].table} (
    version BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at BIGINT NOT NULL,
    sha256 TEXT NOT NULL
  )`);
  return tx.query<Applied>(`SELECT version, sha256 FROM ${schemaQueries[schema].table} ORDER BY version`);
}

function refuseNewer(known: Migration[], applied: Applied[]): void {
  const unknown = applied.findLast(
    ({ version }) => !known.some((migration) => migration.version === version),
  );
  if (unknown === undefined) return;
  throw new WorkcrateError(
    'database_newer',
    `The database was written by a newer Workcrate (schema ${unknown.version}, this one knows ` +
      `${known.at(-1)?.version ?? 0}). Update Workcrate, or restore the backup made before the update.`,
  );
}

function refuseChanged(known: Migration[], applied: Applied[]): void {
  const changed = known.find(({ version, sha256 }) =>
    applied.some((row) => row.version === version && row.sha256 !== sha256),
  );
  if (changed === undefined) return;
  throw new WorkcrateError(
    'database_failed',
    `Migration ${changed.version} (${changed.name}) is not the one that this database was made with. ` +
      `Use the Workcrate release that made it, or a new database.`,
  );
}

async function applyMigration(
  tx: Queries,
  schema: Schema,
  { version, name, statements, sha256 }: Migration,
): Promise<void> {
  for (const statement of statements) await tx.query(statement);
  const { table } = schemaQueries[schema];
  const record = `INSERT INTO ${table} (version, name, applied_at, sha256) VALUES (?, ?, ?, ?)`;
  await tx.query(record, version, name, Date.now(), sha256);
}
