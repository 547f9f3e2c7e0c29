import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openDatabase } from '../../ports/database/open.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { adoptStore, checkSameStore, isSameStore } from './stored-file.ts';

/** In memory, but taken for one that outlives the process. */
const lastingStorage = (): Storage => ({ ...memoryStorage(), isLasting: true });

async function keepFile(storage: Storage): Promise<void> {
  await storage.staging.commit('x', 'files/ab/abc');
}

it('ties a new database to a new storage, and knows them again', async () => {
  const [database, storage] = [await openDatabase(':memory:'), lastingStorage()];
  await checkSameStore(database, storage);
  await keepFile(storage);
  await checkSameStore(database, storage);
});

it('refuses another database, which would take all files for orphans', async () => {
  const storage = lastingStorage();
  await checkSameStore(await openDatabase(':memory:'), storage);
  await keepFile(storage);
  const other = await openDatabase(':memory:');
  await assert.rejects(checkSameStore(other, storage), { code: 'data_mismatch' });
  await checkSameStore(other, lastingStorage());
  await assert.rejects(checkSameStore(other, storage), { code: 'data_mismatch' });
});

it('a new database goes on with an empty folder that another database had', async () => {
  const storage = lastingStorage();
  await checkSameStore(await openDatabase(':memory:'), storage);
  const database = await openDatabase(':memory:');
  await checkSameStore(database, storage);
  await checkSameStore(database, storage);
});

it('refuses an empty place once the database has one, such as a folder that is not mounted, until it is adopted', async () => {
  for (const isShared of [false, true]) {
    const database = await openDatabase(':memory:');
    await checkSameStore(database, { ...lastingStorage(), isShared });
    const empty = { ...lastingStorage(), isShared };
    const refused = { code: 'data_mismatch', message: /not mounted.*check --adopt-storage/ };
    await assert.rejects(checkSameStore(database, empty), refused);
    assert.equal(await isSameStore(database, empty), false);
    await adoptStore(database, empty);
    await checkSameStore(database, empty);
  }
});

it('refuses an empty place where a database of an older release knows files', async () => {
  const database = await openDatabase(':memory:');
  await database.query(
    `INSERT INTO files (id, owner, name, media_type, size, sha256, crc32, origin, storage_key, created_at, expires_at)
     VALUES ('file_1', 'ada', 'a', 'text/plain', 3, 'aa', 1, 'upload', 'files/1', 1, 2)`,
  );
  await assert.rejects(checkSameStore(database, lastingStorage()), { code: 'data_mismatch' });
});

it('does not adopt what holds files of another database', async () => {
  const storage = lastingStorage();
  await checkSameStore(await openDatabase(':memory:'), storage);
  await keepFile(storage);
  await assert.rejects(adoptStore(await openDatabase(':memory:'), storage), { code: 'data_mismatch' });
});

it('has nothing to say of a storage that forgets', async () => {
  const database = await openDatabase(':memory:');
  for (let n = 0; n < 2; n++) await checkSameStore(database, memoryStorage());
});

it('in a store that others use too, an id of another database is enough to refuse', async () => {
  const storage = { ...lastingStorage(), isShared: true };
  const first = await openDatabase(':memory:');
  await checkSameStore(first, storage);
  const other = await openDatabase(':memory:');
  await assert.rejects(checkSameStore(other, storage), {
    code: 'data_mismatch',
    message: /same --database/,
  });
  assert.deepEqual([await isSameStore(first, storage), await isSameStore(other, storage)], [true, false]);
});

it('of several servers that tie a new database to a new store at once, all agree', async () => {
  const storage = { ...lastingStorage(), isShared: true };
  const database = await openDatabase(':memory:');
  await Promise.all(Array.from({ length: 8 }, () => checkSameStore(database, storage)));
  assert.equal((await database.query('SELECT id FROM store')).length, 1);
  assert.ok(await isSameStore(database, storage));
});
