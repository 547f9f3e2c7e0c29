import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test, type TestContext } from 'node:test';
import { spawnModule } from './child.testing.ts';
import { databaseContract } from './database.contract.ts';
import { openDatabase } from './open.ts';
import { sqliteDatabase } from './sqlite.ts';

databaseContract({ name: 'SQLite', newLocation: newFile });

describe('SQLite', () => {
  test('the journal is WAL, each commit is synced, foreign keys are on, and only the owner may read', async (t) => {
    const file = await newFile(t);
    const database = await openDatabase(file);
    t.after(() => database.close());
    const settings = `SELECT journal_mode, synchronous, foreign_keys
      FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys`;
    assert.deepEqual(await database.query(settings), [
      { journal_mode: 'wal', synchronous: 2, foreign_keys: 1 },
    ]);
    for (const name of [file, `${file}-wal`]) assert.equal((await stat(name)).mode & 0o777, 0o600);
  });

  test('rows that were acknowledged outlive kill -9', async (t) => {
    const file = await newFile(t);
    const writer = spawnModule(WRITER, file);
    const acknowledged: string[] = [];
    for await (const line of createInterface(writer.stdout)) {
      acknowledged.push(line);
      if (acknowledged.length === 100) writer.kill('SIGKILL');
    }
    const database = await openDatabase(file);
    t.after(() => database.close());
    const rows = await database.query<{ owner: string; bytes: number }>('SELECT owner, bytes FROM usage');
    const kept = new Set(rows.map(({ owner }) => owner));
    assert.ok(acknowledged.length >= 100);
    assert.deepEqual(
      acknowledged.filter((owner) => !kept.has(owner)),
      [],
    );
    // Each row was written and then changed in one transaction.
    assert.ok(rows.every(({ bytes }) => bytes === 1));
  });

  test('two processes that write to one file wait for each other', async (t) => {
    const file = await newFile(t);
    const children = [spawnModule(COUNTER, file), spawnModule(COUNTER, file)];
    await Promise.all(children.map((child) => once(child, 'exit')));
    const database = await openDatabase(file);
    t.after(() => database.close());
    assert.deepEqual(await database.query('SELECT bytes FROM usage'), [{ bytes: 400 }]);
  });

  test('processes that open a new file at the same moment all get it', async (t) => {
    const files = await Promise.all(Array.from({ length: 30 }, () => newFile(t)));
    const start = Date.now() + 500;
    const children = Array.from({ length: 3 }, () => spawnModule(OPENER, String(start), ...files));
    const ends = await Promise.all(children.map((child) => once(child, 'exit')));
    assert.deepEqual(
      ends.map(([code]) => code),
      [0, 0, 0],
    );
  });

  test('a transaction whose work waits for the outer object is given up', async (t) => {
    const database = sqliteDatabase(':memory:');
    t.after(() => database.close());
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const stuck = database.transaction(() => database.query('SELECT 1 AS one'));
    const outcome = assert.rejects(stuck, { code: 'database_failed', message: /idle/ });
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(60_000);
    await outcome;
    assert.deepEqual(await database.query('SELECT 2 AS two'), [{ two: 2 }]);
  });

  test('a folder that is not there, and a file that is no database, are database_failed', async (t) => {
    const file = await newFile(t);
    assert.throws(() => sqliteDatabase(join(file, 'missing', 'x.sqlite')), { code: 'database_failed' });
    await writeFile(file, 'this is a text, and a long one at that, rather than a database'.repeat(100));
    assert.throws(() => sqliteDatabase(file), { code: 'database_failed', message: /backup/ });
  });
});

async function newFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-sqlite-'));
  t.after(() => rm(folder, { recursive: true }));
  return join(folder, 'test.sqlite');
}

const WRITER = `
  import { writeSync } from 'node:fs';
  import { openDatabase } from './open.ts';
  const database = await openDatabase(process.argv[1]);
  for (let n = 0; ; n++) {
    await database.transaction(async (tx) => {
      await tx.query('INSERT INTO usage (owner) VALUES (?)', String(n));
      await tx.query('UPDATE usage SET bytes = 1 WHERE owner = ?', String(n));
    });
    writeSync(1, n + '\\n');
  }`;

/** All open a file at a moment that the clock gives, so that they meet. */
const OPENER = `
  import { sqliteDatabase } from './sqlite.ts';
  const [start, ...files] = process.argv.slice(1);
  for (const [turn, file] of files.entries()) {
    while (Date.now() < Number(start) + turn * 50);
    const database = sqliteDatabase(file);
    await database.query('CREATE TABLE IF NOT EXISTS test (a BIGINT)');
    await database.close();
  }`;

const COUNTER = `
  import { openDatabase } from './open.ts';
  const database = await openDatabase(process.argv[1]);
  const add = "INSERT INTO usage (owner, bytes) VALUES ('a', 1) ON CONFLICT (owner) DO UPDATE SET bytes = usage.bytes + 1";
  for (let n = 0; n < 100; n++) {
    await database.query(add);
    await database.transaction((tx) => tx.query(add));
  }
  await database.close();`;
