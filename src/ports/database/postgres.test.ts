import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { databaseContract } from './database.contract.ts';
import { openDatabase } from './open.ts';
import { NO_POSTGRES, startPostgres } from './postgres.testing.ts';
import { postgresDatabase } from './postgres.ts';

const server = await startPostgres();
after(() => server?.[Symbol.asyncDispose]());
const newUrl = () => server!.url();
const skip = server === null && NO_POSTGRES;

databaseContract({ name: 'PostgreSQL', newLocation: newUrl, skip });

describe('PostgreSQL', { skip }, () => {
  const add = `INSERT INTO usage (owner, bytes) VALUES ('a', 1)
    ON CONFLICT (owner) DO UPDATE SET bytes = usage.bytes + 1 RETURNING bytes`;
  const killAll = `SELECT COUNT(pg_terminate_backend(pid)) AS n FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;

  test('after a restart of the server the next queries and transactions work', async (t) => {
    const database = await openDatabase(await newUrl());
    t.after(() => database.close());
    await Promise.all(Array.from({ length: 20 }, () => database.query(add)));
    await server!.restart();
    assert.deepEqual(await database.query('SELECT bytes FROM usage'), [{ bytes: 20 }]);
    assert.deepEqual(await database.query(add), [{ bytes: 21 }]);
    assert.deepEqual(await database.transaction((tx) => tx.query(add)), [{ bytes: 22 }]);
  });

  test('a transaction that loses its connection before the end is run again, once kept', async (t) => {
    const url = await newUrl();
    const [database, other] = [await openDatabase(url), await postgresDatabase(url)];
    t.after(() => Promise.all([database.close(), other.close()]));
    let runs = 0;
    await database.transaction(async (tx) => {
      await tx.query(add);
      if (++runs === 1) await other.query(killAll);
      await tx.query('SELECT 1 AS one');
    });
    assert.equal(runs, 2);
    assert.deepEqual(await database.query('SELECT bytes FROM usage'), [{ bytes: 1 }]);
  });

  test('reads outlive connections that are cut under them', async (t) => {
    const url = await newUrl();
    const [database, other] = [await openDatabase(url), await postgresDatabase(url)];
    t.after(() => Promise.all([database.close(), other.close()]));
    await database.query(add);
    const slow = Array.from({ length: 5 }, () =>
      database.query('SELECT bytes, pg_sleep(0.3) AS s FROM usage'),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    await other.query(killAll);
    for (const rows of await Promise.all(slow)) assert.equal(rows[0]?.['bytes'], 1);
  });

  test('amcheck compares the indexes where it is installed', async (t) => {
    const database = await openDatabase(await newUrl());
    t.after(() => database.close());
    try {
      await database.query('CREATE EXTENSION amcheck');
    } catch {
      return t.skip('this PostgreSQL has no extension amcheck');
    }
    assert.deepEqual(await database.verify(), {
      by: 'reading every row of PostgreSQL, and amcheck of its indexes',
      problems: [],
    });
  });

  test('commits wait for the disk, although the server is set not to wait', async (t) => {
    const database = await openDatabase(await newUrl());
    t.after(() => database.close());
    const show = () => database.query('SHOW synchronous_commit');
    const shown = await Promise.all([
      show(),
      show(),
      database.transaction((tx) => tx.query('SHOW synchronous_commit')),
    ]);
    for (const rows of shown) assert.deepEqual(rows, [{ synchronous_commit: 'on' }]);
  });

  test('a wrong password says so, and the error holds no password', async () => {
    const url = new URL(await newUrl());
    url.password = 'hunter2-secret';
    const error = await failureOf(openDatabase(url.href));
    assert.match(error.message, /password authentication failed.*Check the user, the password/s);
    assert.doesNotMatch(inspect(error, { depth: 9 }), /hunter2/);
  });

  test('a database that is not there is named', async () => {
    const url = new URL(await newUrl());
    url.pathname = '/nowhere';
    assert.match((await failureOf(openDatabase(url.href))).message, /"nowhere" does not exist/);
  });
});

describe('PostgreSQL without a server', () => {
  for (const host of ['127.0.0.1:1', 'localhost:1', 'nowhere.invalid']) {
    test(`${host}: the error names it, says what to check, and holds no password`, async () => {
      const error = await failureOf(openDatabase(`postgres://someone:hunter2-secret@${host}/db`));
      assert.equal(error.code, 'database_failed');
      assert.match(
        error.message,
        /someone@(127.0.0.1|localhost|nowhere.invalid):\d+\/db: .*(ECONN|ENOTFOUND|EAI_AGAIN).*Check/,
      );
      assert.doesNotMatch(inspect(error, { depth: 9 }), /hunter2/);
    });
  }

  for (const url of ['postgres://a:hunter2@b:port/c', 'postgres://a:hunter2@[b/c', 'mysql://a:hunter2@b/c']) {
    test(`${url.replace(':hunter2', '')} is config_invalid, without the password`, async () => {
      const error = await failureOf(openDatabase(url));
      assert.equal(error.code, 'config_invalid');
      assert.doesNotMatch(inspect(error, { depth: 9 }), /hunter2/);
    });
  }

  test('without the package pg, the error names the command that installs it', () => {
    const source = `
      import { registerHooks } from 'node:module';
      const missing = Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' });
      registerHooks({ resolve(name, context, next) { if (name === 'pg') throw missing; return next(name, context); } });
      const { openDatabase } = await import('./open.ts');
      await openDatabase('postgres://a@b/c').catch((error) => console.log(error.code, error.message));`;
    const flags = ['--input-type=module', '--eval', source];
    const child = spawnSync(process.execPath, flags, { cwd: import.meta.dirname, encoding: 'utf8' });
    assert.match(child.stdout, /^config_invalid .*npm install pg/);
  });
});

async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  return promise.then(
    () => assert.fail('it did not fail'),
    (error: Error) => error,
  );
}
