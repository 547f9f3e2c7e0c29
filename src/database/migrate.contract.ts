import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { spawnModule } from './child.testing.ts';
import type { Backend } from './backend.testing.ts';
import { openDatabase } from './open.ts';

const TABLES = ['files', 'links', 'bundles', 'bundle_files', 'uploads', 'usage', 'outbox'];

const OPEN_AND_CLOSE = `
  import { openDatabase } from './open.ts';
  const database = await openDatabase(process.argv[1]);
  await database.close();`;

export function migrationContract(backend: Backend): void {
  test('opening makes the tables, and opening again changes nothing', async (t) => {
    const location = await backend.newLocation(t);
    const records = [];
    for (let time = 0; time < 2; time++) {
      const database = await openDatabase(location);
      for (const table of TABLES) assert.deepEqual(await database.query(`SELECT * FROM ${table}`), []);
      records.push(await database.query('SELECT * FROM schema_migrations'));
      await database.close();
    }
    assert.equal(records[0]?.[0]?.['name'], 'files-and-links');
    assert.deepEqual(records[0], records[1]);
  });

  test('four processes that open a new database at once all succeed', async (t) => {
    const location = await backend.newLocation(t);
    const children = Array.from({ length: 4 }, () => spawnModule(OPEN_AND_CLOSE, location));
    const ends = await Promise.all(children.map((child) => once(child, 'exit')));
    for (const [code] of ends) assert.equal(code, 0);
  });

  test('a database of a newer version is refused with what to do', async (t) => {
    const location = await backend.newLocation(t);
    const database = await openDatabase(location);
    await database.query("INSERT INTO schema_migrations VALUES (9999, 'from-the-future', 0, '')");
    await database.close();
    await assert.rejects(openDatabase(location), {
      code: 'database_newer',
      message: /9999.*Update Workcrate/,
    });
  });

  test('a database made by another text of the same migration is refused', async (t) => {
    const location = await backend.newLocation(t);
    const database = await openDatabase(location);
    await database.query("UPDATE schema_migrations SET sha256 = 'other'");
    await database.close();
    await assert.rejects(openDatabase(location), { code: 'database_failed', message: /files-and-links/ });
  });
}
