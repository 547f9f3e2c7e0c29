import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { spawnModule } from './child.testing.ts';
import type { Backend } from './backend.testing.ts';
import { migrateTo } from './migrate.ts';
import { openBackend, openDatabase } from './open.ts';

const TABLES = [
  'files',
  'links',
  'bundles',
  'bundle_files',
  'uploads',
  'usage',
  'outbox',
  'places',
  'executions',
  'jobs',
  'users',
  'api_keys',
  'shared_keys',
  'audit_heads',
  'audit_waiting',
  'trusted_clock',
  'packings',
  'scripts',
  'script_versions',
  'script_usage',
  'tool_calls',
  'offered_tools',
  'page_sign_ins',
];

/** The last migration of every release, and of what was there before a migration that changes much. */
const earlier = { 'of release 0.1.0': 1, 'from before uploads had a purpose': 5 };

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

  for (const [which, version] of Object.entries(earlier))
    test(`a database ${which} is brought up to date, by four processes at once, with all that is in it`, async (t) => {
      const location = await backend.newLocation(t);
      const old = await openBackend(location);
      await migrateTo(old, version);
      await old.query(
        `INSERT INTO files (id, owner, name, media_type, size, sha256, crc32, origin, storage_key, created_at, expires_at)
         VALUES ('file_1', 'local', 'a', 'text/plain', 3, 'aa', 1, 'upload', 'files/1', 1, 2)`,
      );
      await old.query(
        `INSERT INTO uploads (token_hash, id, owner, name, media_type, keep_seconds, created_at, expires_at)
         VALUES ('hash', 'up-1', 'local', 'a', 'text/plain', 60, 1, 2)`,
      );
      const before = await old.query('SELECT * FROM files');
      const [upload] = await old.query('SELECT * FROM uploads');
      await old.close();
      const children = Array.from({ length: 4 }, () => spawnModule(OPEN_AND_CLOSE, location));
      for (const [code] of await Promise.all(children.map((child) => once(child, 'exit'))))
        assert.equal(code, 0);
      const database = await openDatabase(location);
      t.after(() => database.close());
      assert.deepEqual(await database.query('SELECT * FROM files'), before);
      const since = {
        purpose: null,
        purpose_note: null,
        synced_bytes: null,
        batch: null,
        files_left: null,
      };
      assert.deepEqual(await database.query('SELECT * FROM uploads'), [{ ...upload, ...since }]);
      for (const table of TABLES) await database.query(`SELECT * FROM ${table}`);
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
