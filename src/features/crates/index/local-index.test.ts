import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { crateIdOf, madeUp } from './crate.testing.ts';
import { createIndexFiller } from './filling.ts';
import { namesOf } from './index.testing.ts';
import { getBehindIndexFile, openLocalIndex } from './local-index.ts';
import { createIndexReader } from './reading.ts';
import { createCrateRows } from './rows.ts';

const request = { query: 'salt', mode: 'keyword', filters: [], limit: 10, offset: 0 } as const;
const isBehind = (error: unknown): boolean => getBehindIndexFile(error) === '';

/** Rows of two public crates and one of bob's, and a file that is to be made of them. */
async function newRows(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'local-index-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const database = await openDatabase(':memory:', 'crates');
  t.after(() => database.close());
  const rows = createCrateRows(database, { clock: () => 1_700_000_000_000 });
  await rows.put([
    madeUp({ id: 'one', title: 'Salt one' }),
    madeUp({ id: 'two', title: 'Salt two' }),
    madeUp({ id: 'bobs', title: 'Salt of bob', owner: 'bob' }),
  ]);
  const open = () => {
    const local = openLocalIndex(join(folder, 'index.db'));
    t.after(() => local[Symbol.dispose]());
    const reader = createIndexReader(database, local);
    const find = async () => namesOf(await reader.search('ann', request)).toSorted();
    return { local, filler: createIndexFiller(database, local, null), reader, find };
  };
  return { database, rows, open };
}

test('an index that lacks rows says so, how many of those that the viewer may see, and answers with what is there', async (t) => {
  const { rows, open } = await newRows(t);
  const { filler, reader, find } = open();
  await assert.rejects(find(), isBehind);
  await assert.rejects(reader.demandCaughtUp(), isBehind);
  assert.deepEqual([await reader.countMissing('ann'), await reader.countMissing('bob')], [2, 3]);
  await filler.catchUp();
  await reader.demandCaughtUp();
  await rows.put([madeUp({ id: 'three', title: 'Salt three' })]);
  await rows.remove([crateIdOf('two')]);
  await assert.rejects(reader.demandCaughtUp(), isBehind);
  assert.equal(await reader.countMissing('ann'), 1);
  assert.deepEqual(await find(), ['one'], 'what was removed is not shown even before');
  await filler.catchUp();
  assert.deepEqual([await find(), await reader.countMissing('ann')], [['one', 'three'], 0]);
});

test('a file of an older version, and one of other rows, is made anew', async (t) => {
  const { open } = await newRows(t);
  const { local, filler, find } = open();
  await filler.catchUp();
  local.connection.exec('PRAGMA user_version = 0');
  await assert.rejects(find(), isBehind);
  await filler.catchUp();
  assert.deepEqual(await find(), ['one', 'two']);
  const other = await newRows(t);
  await other.rows.remove([crateIdOf('one')]);
  await createIndexFiller(other.database, local, null).catchUp();
  assert.deepEqual(await find(), ['two'], 'of rows that are gone nothing is found');
});

test('two processes that have one file follow the rows write nothing twice', async (t) => {
  const { rows, open } = await newRows(t);
  const [mine, theirs] = [open(), open()];
  for (let at = 0; at < 5; at++) {
    await rows.put(Array.from({ length: 20 }, (_, n) => madeUp({ id: `n${at}-${n}`, title: 'Pepper' })));
    await Promise.all([mine.filler.catchUp(), theirs.filler.catchUp()]);
  }
  for (const { reader } of [mine, theirs])
    assert.equal((await reader.search('ann', { ...request, query: 'pepper' })).total, 100);
});

test('an index that has not seen a removal that is no longer listed is made anew', async (t) => {
  const { database, rows, open } = await newRows(t);
  const { filler, find } = open();
  await filler.catchUp();
  await rows.remove([crateIdOf('one')]);
  await createCrateRows(database, { clock: () => 1_900_000_000_000 }).forgetRemovals();
  assert.deepEqual(await database.query('SELECT crate_id FROM crate_removals'), []);
  await filler.catchUp();
  assert.deepEqual(await find(), ['two']);
});
