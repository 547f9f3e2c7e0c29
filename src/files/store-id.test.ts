import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openDatabase } from '../database/open.ts';
import { memoryStorage } from '../storage/memory.ts';
import type { Storage } from '../storage/storage.ts';
import { demandSameStore } from './store-id.ts';

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

it('goes on where a crash came between the two, and with a storage that was emptied', async () => {
  const storage = memoryStorage();
  await demandSameStore(await openDatabase(':memory:'), storage);
  const database = await openDatabase(':memory:');
  await demandSameStore(database, storage);
  await demandSameStore(database, memoryStorage());
});
