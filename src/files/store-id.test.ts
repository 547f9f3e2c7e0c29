import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openDatabase } from '../database/open.ts';
import { memoryStorage } from '../storage/memory.ts';
import type { Storage } from '../storage/storage.ts';
import { demandSameStore, isSameStore } from './store-id.ts';

async function keepFile(storage: Storage): Promise<void> {
  await storage.staging.commit('x', 'files/ab/abc');
}

it('ties a new database to a new storage, and knows them again', async () => {
  const [database, storage] = [await openDatabase(':memory:'), memoryStorage()];
  await demandSameStore(database, storage);
  await keepFile(storage);
  await demandSameStore(database, storage);
});

it('refuses another database, which would take all files for orphans', async () => {
  const storage = memoryStorage();
  await demandSameStore(await openDatabase(':memory:'), storage);
  await keepFile(storage);
  const other = await openDatabase(':memory:');
  await assert.rejects(demandSameStore(other, storage), { code: 'data_mismatch' });
  await demandSameStore(other, memoryStorage());
  await assert.rejects(demandSameStore(other, storage), { code: 'data_mismatch' });
});

it('goes on with a folder that was emptied, and with an empty one that another database had', async () => {
  const storage = memoryStorage();
  await demandSameStore(await openDatabase(':memory:'), storage);
  const database = await openDatabase(':memory:');
  await demandSameStore(database, storage);
  await demandSameStore(database, memoryStorage());
});

it('in a store that others use too, an id of another database is enough to refuse', async () => {
  const storage = { ...memoryStorage(), isShared: true };
  const first = await openDatabase(':memory:');
  await demandSameStore(first, storage);
  const other = await openDatabase(':memory:');
  await assert.rejects(demandSameStore(other, storage), {
    code: 'data_mismatch',
    message: /same --database/,
  });
  assert.deepEqual([await isSameStore(first, storage), await isSameStore(other, storage)], [true, false]);
});

it('of several servers that tie a new database to a new store at once, all agree', async () => {
  const storage = { ...memoryStorage(), isShared: true };
  const database = await openDatabase(':memory:');
  await Promise.all(Array.from({ length: 8 }, () => demandSameStore(database, storage)));
  assert.equal((await database.query('SELECT id FROM store')).length, 1);
  assert.ok(await isSameStore(database, storage));
});
