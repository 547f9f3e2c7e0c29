import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sqliteDatabase } from '../../ports/database/sqlite.ts';
import { createBatchWriter } from './store.ts';

test('what is written in one turn is one transaction, and one that fails costs only itself', async () => {
  const database = sqliteDatabase(':memory:');
  await database.query('CREATE TABLE numbers (number BIGINT NOT NULL PRIMARY KEY)');
  const write = createBatchWriter(database);
  const insert = (number: number) =>
    write(async (tx) => void (await tx.query('INSERT INTO numbers VALUES (?)', number)));
  const count = async () => (await database.query('SELECT number FROM numbers')).length;

  const before = database.version()!;
  await Promise.all([1, 2, 3, 4].map(insert));
  assert.equal(await count(), 4);
  assert.ok(database.version()! > before);

  const settled = await Promise.allSettled([5, 1, 6].map(insert));
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(await count(), 6);
  await database.close();
});
