import type { TestContext } from 'node:test';
import type { Database } from './database.ts';
import { openDatabase } from './open.ts';

/** A backend under test. */
export interface Backend {
  readonly name: string;
  /** Where a new and empty database is to be opened. */
  newLocation(t: TestContext): Promise<string>;
  /** Why the backend cannot be tested here. */
  readonly skip?: string | false;
}

/** Opens a database of the test's own, with a table `things`. */
export async function openNew(t: TestContext, backend: Backend): Promise<Database> {
  const database = await openDatabase(await backend.newLocation(t));
  t.after(() => database.close());
  await database.query('CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, n BIGINT, note TEXT)');
  return database;
}
