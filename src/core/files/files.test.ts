import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../../ports/database/open.ts';
import { openUploads } from '../links/open-uploads.ts';
import { createLog } from '../../platform/observability/log.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import { createFiles, toStorageKey } from './files.ts';
import { adoptStore, checkSameStore } from './stored-file.ts';
import { removeOrphanFiles } from './sweep.ts';

const ann = { user: 'ann' };
const plenty = { userBytes: 1e12, userFiles: 1e6, totalBytes: 1e12, totalFiles: 1e6 };

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function room(clock = Date.now) {
  const database = await openDatabase(':memory:');
  const storage = memoryStorage();
  const log = createLog('off');
  const files = createFiles({ database, storage, openUploads, quotas: plenty, maxFileSize: 1e9, clock, log });
  return { database, storage, files, [Symbol.asyncDispose]: () => database.close() };
}

async function put({ storage }: { storage: ReturnType<typeof memoryStorage> }, id: string, text: string) {
  await storage.staging.append(id, 0, bytesOf(text));
  await storage.staging.commit(id, toStorageKey(id));
}

test('bytes without a row, as a database that was lost in mid-answer leaves them, give way to the next try', async () => {
  await using it = await room();
  const id = `up-${'0a'.repeat(12)}`;
  await put(it, id, 'of the try before');
  await it.storage.staging.append(id, 0, bytesOf('of this one'));
  const file = { name: 'a.txt', origin: 'upload', keepSeconds: 60 };
  const kept = await it.files.keep(ann, file, id, null, (tx, { size }) =>
    it.files.charge(tx, 'ann', size, 1),
  );
  await using object = (await it.files.open(kept))!;
  assert.equal(object.size, 'of this one'.length);
});

test('bytes that a row knows are never written over', async () => {
  await using it = await room();
  const id = `up-${'0b'.repeat(12)}`;
  const file = { name: 'a.txt', origin: 'upload', keepSeconds: 60 };
  const keep = async (text: string) => {
    await it.storage.staging.append(id, 0, bytesOf(text));
    return it.files.keep(ann, file, id, null, async () => {});
  };
  const kept = await keep('first');
  await assert.rejects(keep('second'), { code: 'already_exists' });
  await using object = (await it.files.open(kept))!;
  assert.equal(object.size, 5);
});

test('in a storage that others use too, only bytes that have long had no row are removed', async () => {
  let now = Date.now();
  await using it = await room(() => now);
  const shared = { ...it.storage, isShared: true };
  const options = { openUploads, quotas: plenty, maxFileSize: 1e9, clock: () => now, log: createLog('off') };
  const files = createFiles({ ...options, database: it.database, storage: shared });
  await checkSameStore(it.database, shared);
  const [orphan, staged] = [`up-${'0c'.repeat(12)}`, `add-${'0d'.repeat(12)}`];
  await put(it, orphan, 'x');
  await it.storage.staging.append(staged, 0, bytesOf('y'));
  await files.sweep();
  assert.notEqual(await it.storage.stat(toStorageKey(orphan)), null);
  for (let hours = 0; hours < 49; hours++) {
    now += 60 * 60 * 1000;
    await files.sweep();
  }
  assert.deepEqual(await it.storage.staging.list(), []);
  assert.equal(await it.storage.stat(toStorageKey(orphan)), null);
});

test('bytes without a row that are more than a crash leaves stay in a shared storage, until they are asked to go', async () => {
  let now = Date.now();
  await using it = await room(() => now);
  const shared = { ...it.storage, isShared: true, isLasting: true };
  const lines: string[] = [];
  const log = createLog('warn', (line) => void lines.push(line));
  const clock = (): number => now;
  const options = { openUploads, quotas: plenty, maxFileSize: 1e9, clock, log };
  const stores = { database: it.database, storage: shared };
  const files = createFiles({ ...options, ...stores });
  await checkSameStore(it.database, shared);
  const ids = Array.from({ length: 5 }, (_, at) => `up-${'0e'.repeat(11)}${at}a`);
  for (const id of ids) await put(it, id, 'x');
  const begun = Array.from({ length: 4 }, (_, at) => `up-${'0f'.repeat(11)}${at}b`);
  for (const id of begun) await it.storage.staging.append(id, 0, bytesOf('begun by another'));
  for (let hours = 0; hours < 49; hours++) {
    now += 60 * 60 * 1000;
    await files.sweep();
  }
  for (const id of ids) assert.notEqual(await it.storage.stat(toStorageKey(id)), null);
  assert.equal((await it.storage.staging.list()).length, 4);
  assert.match(lines.join(''), /"sweep\.orphans_left".*"count":9.*check --remove-orphans/);
  assert.deepEqual(await removeOrphanFiles({ ...stores, openUploads, clock }), {
    removed: 9,
    fromQuarantine: 0,
  });
  for (const id of ids) assert.equal(await it.storage.stat(toStorageKey(id)), null);
});

test('a server whose store another database has taken over stores, deletes and sweeps no more', async () => {
  await using it = await room();
  const shared = { ...it.storage, isShared: true, isLasting: true };
  const options = { openUploads, quotas: plenty, maxFileSize: 1e9, clock: Date.now, log: createLog('off') };
  const files = createFiles({ ...options, database: it.database, storage: shared });
  await checkSameStore(it.database, shared);
  const file = { name: 'a.txt', origin: 'upload', keepSeconds: -1 };
  const { id, storageKey } = await files.add(ann, file, bytesOf('x'));
  const copy = { ...it.database, identify: async () => 'a copy' };
  await assert.rejects(checkSameStore(copy, shared), { code: 'data_mismatch', message: /a copy of it/ });
  await adoptStore(copy, shared);
  assert.equal(await files.sweep(), 0);
  assert.notEqual(await it.storage.stat(storageKey), null);
  const refused = { code: 'data_mismatch' };
  await assert.rejects(files.add(ann, file, bytesOf('y')), refused);
  await assert.rejects(files.remove(ann, id), refused);
  await assert.rejects(async () => files.demandWriter(), refused);
  await adoptStore(it.database, shared);
  assert.equal(await files.sweep(), 1);
  await files.add(ann, file, bytesOf('z'));
});

test('a clock that is ahead for some seconds deletes nothing, and expired files are refused all the same', async () => {
  let now = Date.now();
  await using it = await room(() => now);
  const { id, storageKey } = await it.files.add(
    ann,
    { name: 'a.txt', origin: 'upload', keepSeconds: 3600 },
    bytesOf('x'),
  );
  await it.files.sweep();
  for (const ahead of [2 * 3600_000, 100 * 86_400_000]) {
    now += ahead;
    assert.equal(await it.files.find(ann, id), null);
    assert.equal(await it.files.sweep(), 0);
    now -= ahead;
    assert.equal(await it.files.sweep(), 0);
  }
  assert.equal((await it.files.find(ann, id))?.storageKey, storageKey);
  assert.notEqual(await it.storage.stat(storageKey), null);
  now += 3600_000;
  assert.equal(await it.files.sweep(), 1);
});
