import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Backend, openNew } from './backend.testing.ts';
import type { Queries } from './database.ts';

export function transactionContract(backend: Backend): void {
  const insert = 'INSERT INTO things (id, n) VALUES (?, ?)';
  const all = 'SELECT id, n FROM things ORDER BY id';

  test('a transaction gives back what its work does, and is kept', async (t) => {
    const database = await openNew(t, backend);
    const result = await database.transaction(async (tx) => {
      await tx.query(insert, 'a', 1);
      return tx.query('UPDATE things SET n = n + 1 RETURNING n');
    });
    assert.deepEqual(result, [{ n: 2 }]);
    assert.deepEqual(await database.query(all), [{ id: 'a', n: 2 }]);
  });

  test('work that throws leaves nothing, and its error is passed on as it is', async (t) => {
    const database = await openNew(t, backend);
    const reason = new Error('changed my mind');
    const failing = database.transaction(async (tx) => {
      await tx.query(insert, 'a', 1);
      throw reason;
    });
    await assert.rejects(failing, (error) => error === reason);
    assert.deepEqual(await database.query(all), []);
    await database.transaction((tx) => tx.query(insert, 'b', 2));
    assert.deepEqual(await database.query(all), [{ id: 'b', n: 2 }]);
  });

  test('a query that failed dooms the transaction, even if its work goes on', async (t) => {
    const database = await openNew(t, backend);
    const doomed = database.transaction(async (tx) => {
      await tx.query(insert, 'a', 1);
      await assert.rejects(tx.query(insert, 'a', 1), { code: 'database_failed' });
      await assert.rejects(tx.query(all), { code: 'database_failed' });
    });
    await assert.rejects(doomed, { code: 'database_failed' });
    assert.deepEqual(await database.query(all), []);
  });

  test('a query that work did not await belongs to the transaction', async (t) => {
    const database = await openNew(t, backend);
    await database.transaction(async (tx) => {
      for (const id of ['a', 'b', 'c']) void tx.query(insert, id, 1);
    });
    assert.equal((await database.query(all)).length, 3);
    const doomed = database.transaction(async (tx) => {
      tx.query(insert, 'd', 1).catch(() => {});
      tx.query('SELEC').catch(() => {});
    });
    await assert.rejects(doomed, { code: 'database_failed' });
    assert.equal((await database.query(all)).length, 3);
  });

  test('a transaction that has ended cannot be used', async (t) => {
    const database = await openNew(t, backend);
    const kept = await database.transaction(async (tx): Promise<{ tx: Queries }> => ({ tx }));
    await assert.rejects(kept.tx.query(all), { code: 'database_failed' });
  });

  test('queries outside see only what is committed', async (t) => {
    const database = await openNew(t, backend);
    const midway = Promise.withResolvers<void>();
    const transaction = database.transaction(async (tx) => {
      await tx.query(insert, 'a', 1);
      midway.resolve();
      await pause(50);
      await tx.query(insert, 'b', 1);
    });
    await midway.promise;
    const seen = await database.query(all);
    assert.ok(seen.length === 0 || seen.length === 2, `saw ${seen.length} of 2 rows`);
    await transaction;
    assert.equal((await database.query(all)).length, 2);
  });

  test('200 increments at once, by query and by transaction, are all counted', async (t) => {
    const database = await openNew(t, backend);
    await database.query(insert, 'a', 0);
    const increment = (queries: Queries) => queries.query('UPDATE things SET n = n + 1 WHERE id = ?', 'a');
    const slowly = async (tx: Queries) => {
      await tx.query(all);
      await increment(tx);
      await tx.query(all);
    };
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        i % 2 === 0 ? increment(database) : database.transaction((tx) => slowly(tx)),
      ),
    );
    assert.deepEqual(await database.query(all), [{ id: 'a', n: 200 }]);
  });

  test('of 50 who take the last one, one gets it', async (t) => {
    const database = await openNew(t, backend);
    await database.query(insert, 'a', 1);
    const take = 'UPDATE things SET n = n - 1 WHERE id = ? AND n > 0 RETURNING n';
    const taken = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        i % 2 === 0 ? database.query(take, 'a') : database.transaction((tx) => tx.query(take, 'a')),
      ),
    );
    assert.deepEqual(
      taken.filter((rows) => rows.length > 0),
      [[{ n: 0 }]],
    );
  });

  test('two transactions that want the same rows in opposite order are both kept', async (t) => {
    const database = await openNew(t, backend);
    await database.query('INSERT INTO things (id, n) VALUES (?, 0), (?, 0)', 'a', 'b');
    const both = (first: string, second: string) =>
      database.transaction(async (tx) => {
        await tx.query('UPDATE things SET n = n + 1 WHERE id = ?', first);
        await pause(50);
        await tx.query('UPDATE things SET n = n + 1 WHERE id = ?', second);
      });
    await Promise.all([both('a', 'b'), both('b', 'a')]);
    assert.deepEqual(await database.query(all), [
      { id: 'a', n: 2 },
      { id: 'b', n: 2 },
    ]);
  });
}
