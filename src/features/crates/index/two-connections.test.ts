import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { crateIdOf, madeUp } from './crate.testing.ts';
import { createIndexFiller } from './filling.ts';
import { followRows } from './index.testing.ts';
import { openLocalIndex } from './local-index.ts';
import { createIndexReader } from './reading.ts';
import { createCrateRows } from './rows.ts';

test('a reader on another connection sees each batch at once, and whole', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-index-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'crates.db');
  const [writing, reading] = [await openDatabase(file, 'crates'), await openDatabase(file, 'crates')];
  t.after(() => Promise.all([writing.close(), reading.close()]));
  const [mine, theirs] = [openLocalIndex(join(folder, 'index.db')), openLocalIndex(join(folder, 'index.db'))];
  t.after(() => [mine, theirs].map((local) => local[Symbol.dispose]()));
  const filler = createIndexFiller(writing, mine, null);
  await filler.catchUp();
  const rows = followRows(createCrateRows(writing, { clock: Date.now }), () => filler.catchUp());
  const reader = createIndexReader(reading, theirs);
  const search = (query: string) =>
    reader.search('ann', { query, mode: 'keyword', filters: [], limit: 5, offset: 0 });

  const seen: number[] = [];
  const done = new AbortController();
  const looking = (async () => {
    while (!done.signal.aborted) {
      seen.push((await search('common')).total);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const pair = (at: number) => [`a${at}`, `b${at}`].map((id) => madeUp({ id, title: `Common ${id}` }));
  for (let at = 0; at < 20; at++) {
    await rows.put(pair(at));
    assert.equal((await search('common')).total, 2 * (at + 1));
  }
  await rows.remove([crateIdOf('a3'), crateIdOf('b3')]);
  done.abort();
  await looking;
  assert.equal((await search('common')).total, 38);
  assert.ok(seen.every((total) => total % 2 === 0));
});
