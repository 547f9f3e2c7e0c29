import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { crateIdOf, madeUp } from './crate.testing.ts';
import { createIndexReader } from './reading.ts';
import { createIndexWriter } from './writing.ts';

test('a reader on another connection sees each batch at once, whole, while segments are merged under it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-index-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'crates.db');
  const [writing, reading] = [await openDatabase(file, 'crates'), await openDatabase(file, 'crates')];
  t.after(() => Promise.all([writing.close(), reading.close()]));
  const writer = createIndexWriter(writing, { clock: Date.now });
  const reader = createIndexReader(reading, null, { cacheBytes: 4096 });
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
    await writer.put(pair(at));
    assert.equal((await search('common')).total, 2 * (at + 1));
    await writer.merge(new AbortController().signal);
  }
  await writer.remove([crateIdOf('a3'), crateIdOf('b3')]);
  done.abort();
  await looking;
  assert.equal((await search('common')).total, 38);
  assert.ok(seen.every((total) => total % 2 === 0));
});
