import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Backend, openNew } from './backend.testing.ts';
import { migrationContract } from './migrate.contract.ts';
import { transactionContract } from './transaction.contract.ts';

/** What every backend must do. */
export function databaseContract(backend: Backend): void {
  describe(`${backend.name}: database`, { skip: backend.skip ?? false }, () => {
    queryContract(backend);
    closeContract(backend);
    transactionContract(backend);
    migrationContract(backend);
  });
}

const TEXTS = {
  'an empty string': '',
  quotes: `it's "quoted" \\ $1 ? ; -- /* */ %_`,
  'several scripts': 'Łódź 東京 عربى',
  'beyond the basic plane': '𝄞🧪👩‍🔬',
  'combining marks, not normalised': 'e\u0301 ≠ é',
  'line breaks': 'a\r\nb\tc\u2028',
  'a million characters': 'ü'.repeat(1_000_000),
};

const INTEGERS = [0, -1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];

function queryContract(backend: Backend): void {
  for (const [what, note] of Object.entries(TEXTS)) {
    test(`${what}: stored and given back unchanged`, async (t) => {
      const database = await openNew(t, backend);
      await database.query('INSERT INTO things (id, note) VALUES (?, ?)', note.slice(0, 100), note);
      const rows = await database.query('SELECT note FROM things WHERE id = ?', note.slice(0, 100));
      assert.deepEqual(rows, [{ note }]);
    });
  }

  test('a sound database finds nothing wrong with itself, and says how it looked', async (t) => {
    const database = await openNew(t, backend);
    const { by, problems } = await database.verify();
    assert.deepEqual(problems, []);
    assert.match(by, /integrity_check|every row/);
    await database.demandWhole();
  });

  test('a database is told from another one of the same tables, and stays the same for itself', async (t) => {
    const [database, other] = [await openNew(t, backend), await openNew(t, backend)];
    assert.equal(await database.identify(), await database.identify());
    assert.notEqual(await database.identify(), await other.identify());
  });

  test('integers up to 2^53 - 1 come back as numbers', async (t) => {
    const database = await openNew(t, backend);
    for (const n of INTEGERS) await database.query('INSERT INTO things (id, n) VALUES (?, ?)', String(n), n);
    const rows = await database.query<{ id: string; n: number }>('SELECT id, n FROM things');
    assert.equal(rows.length, INTEGERS.length);
    for (const { id, n } of rows) assert.equal(n, Number(id));
  });

  test('bytes come back unchanged, and are ordered byte by byte', async (t) => {
    const database = await openNew(t, backend);
    await database.query('CREATE TABLE pieces (piece BYTEA NOT NULL PRIMARY KEY)');
    const pieces = [[], [0], [0, 0], [0x61], [0x61, 0], [0x61, 0xff], [0x62], [0xc3, 0xa9], [0xff]];
    for (const piece of pieces.toReversed())
      await database.query('INSERT INTO pieces (piece) VALUES (?)', Uint8Array.from(piece));
    const rows = await database.query<{ piece: Uint8Array }>('SELECT piece FROM pieces ORDER BY piece');
    assert.deepEqual(
      rows.map(({ piece }) => [...piece]),
      pieces,
    );
    const [from, to] = [Uint8Array.of(0x61), Uint8Array.of(0x62)];
    const between = await database.query('SELECT piece FROM pieces WHERE piece >= ? AND piece < ?', from, to);
    assert.equal(between.length, 3);
  });

  test('an integer beyond 2^53 is an error, and the database goes on', async (t) => {
    const database = await openNew(t, backend);
    await database.query("INSERT INTO things (id, n) VALUES ('a', 9007199254740993)");
    await assert.rejects(database.query('SELECT n FROM things'), { code: 'database_failed' });
    assert.deepEqual(await database.query('SELECT id FROM things'), [{ id: 'a' }]);
  });

  test('null is null, and a row is a plain object', async (t) => {
    const database = await openNew(t, backend);
    await database.query('INSERT INTO things (id, n, note) VALUES (?, ?, ?)', 'a', null, null);
    assert.deepEqual(await database.query('SELECT * FROM things'), [{ id: 'a', n: null, note: null }]);
    assert.deepEqual(await database.query('SELECT * FROM things WHERE id = ?', 'b'), []);
  });

  test('a question mark in quotes or a comment is no placeholder', async (t) => {
    const database = await openNew(t, backend);
    const sql = `INSERT INTO things (id, note) /* ? */ VALUES (?, 'it''s ?') -- ?
      RETURNING note AS "what?"`;
    assert.deepEqual(await database.query(sql, 'a'), [{ 'what?': "it's ?" }]);
  });

  test('COUNT and a cast SUM are numbers', async (t) => {
    const database = await openNew(t, backend);
    await database.query('INSERT INTO things (id, n) VALUES (?, ?), (?, ?)', 'a', 2, 'b', 2 ** 40);
    const sql = 'SELECT COUNT(*) AS many, CAST(SUM(n) AS BIGINT) AS total FROM things';
    assert.deepEqual(await database.query(sql), [{ many: 2, total: 2 ** 40 + 2 }]);
  });

  test('INSERT, UPDATE and DELETE give back what RETURNING names, else nothing', async (t) => {
    const database = await openNew(t, backend);
    const insert = 'INSERT INTO things (id, n) VALUES (?, ?) RETURNING id, n';
    assert.deepEqual(await database.query(insert, 'a', 1), [{ id: 'a', n: 1 }]);
    assert.deepEqual(await database.query('UPDATE things SET n = n + ? RETURNING n', 5), [{ n: 6 }]);
    assert.deepEqual(await database.query('UPDATE things SET n = n + 1'), []);
    assert.deepEqual(await database.query('DELETE FROM things RETURNING n'), [{ n: 7 }]);
  });

  test('ON CONFLICT adds to a row that exists, or leaves it', async (t) => {
    const database = await openNew(t, backend);
    const add = `INSERT INTO things (id, n) VALUES (?, ?)
      ON CONFLICT (id) DO UPDATE SET n = things.n + excluded.n RETURNING n`;
    assert.deepEqual(await database.query(add, 'a', 2), [{ n: 2 }]);
    assert.deepEqual(await database.query(add, 'a', 3), [{ n: 5 }]);
    const leave = 'INSERT INTO things (id, n) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING n';
    assert.deepEqual(await database.query(leave, 'a', 9), []);
  });

  const refused: Record<string, [string, ...string[]]> = {
    'a syntax error': ['SELEC 1'],
    'a table that is not there': ['SELECT * FROM nothing_here'],
    'a key that exists': ["INSERT INTO things (id) VALUES ('a'), ('a')"],
    'too few values': ['SELECT * FROM things WHERE id = ? OR note = ?', 'a'],
    'too many values': ['SELECT * FROM things WHERE id = ?', 'a', 'b'],
    'two statements': ["INSERT INTO things (id) VALUES ('a'); DELETE FROM things"],
  };
  for (const [what, [sql, ...values]] of Object.entries(refused)) {
    test(`${what} is database_failed, and the database goes on`, async (t) => {
      const database = await openNew(t, backend);
      await assert.rejects(database.query(sql, ...values), {
        name: 'WorkcrateError',
        code: 'database_failed',
      });
      assert.deepEqual(await database.query('SELECT id FROM things'), []);
    });
  }
}

function closeContract(backend: Backend): void {
  test('closing waits for what runs, may be done twice, and later calls are database_failed', async (t) => {
    const database = await openNew(t, backend);
    const insert = 'INSERT INTO things (id) VALUES (?) RETURNING id';
    const transaction = database.transaction(async (tx) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return tx.query(insert, 'a');
    });
    const queries = Array.from({ length: 20 }, (_, n) => database.query(insert, `b${n}`));
    await Promise.all([database.close(), database.close()]);
    assert.deepEqual(await transaction, [{ id: 'a' }]);
    assert.equal((await Promise.all(queries)).length, 20);
    await assert.rejects(database.query('SELECT 1 AS one'), { code: 'database_failed' });
    await assert.rejects(
      database.transaction(async () => {}),
      { code: 'database_failed' },
    );
  });
}
