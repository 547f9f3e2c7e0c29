import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { crateIdOf, madeUp } from '../index/crate.testing.ts';
import { namesOf } from '../index/index.testing.ts';
import { createIndexFiller } from '../index/filling.ts';
import { openLocalIndex } from '../index/local-index.ts';
import { createCrateRows } from '../index/rows.ts';
import { createSearchingWorker } from './workers.ts';

const request = {
  query: 'salt',
  mode: 'keyword',
  filters: [],
  limit: 10,
  offset: 0,
} as const;

async function newSearching(t: TestContext, sourceUrls?: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'searching-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const location = join(folder, 'crates.db');
  const database = await openDatabase(location, 'crates');
  await createCrateRows(database, { clock: Date.now }).put([
    madeUp({ id: 'one', title: 'Salt' }),
    madeUp({ id: 'two', title: 'Salt', source: 's3://old/' }),
  ]);
  const file = join(folder, 'crates-index.db');
  using local = openLocalIndex(file);
  await createIndexFiller(database, local, null).catchUp();
  await database.close();
  const settings = {
    location,
    file,
    semantics: 'off',
    endpoint: null,
    ...(sourceUrls && { sourceUrls }),
  } as const;
  return createSearchingWorker(settings, createLog('off'));
}

const context = (signal = new AbortController().signal) => ({ signal, report: () => {} });

test('one viewer has at most 54 searches under way and waiting, and another may still search', async (t) => {
  const { search } = await newSearching(t);
  const flood = Array.from({ length: 60 }, () => search({ viewer: 'ann', request }, context()));
  const other = search({ viewer: 'bob', request }, context());
  const ends = await Promise.allSettled(flood);
  const refused = ends.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  assert.deepEqual(
    refused.map(({ reason }) => (reason as { code?: string }).code),
    Array.from({ length: 6 }, () => 'too_many_requests'),
  );
  assert.equal((await other).total, 2);
});

test('searches that are cancelled end as such, those that wait and those under way', async (t) => {
  const searching = await newSearching(t);
  const stop = new AbortController();
  const asked = Array.from({ length: 20 }, () =>
    searching.search({ viewer: 'ann', request }, context(stop.signal)),
  );
  stop.abort();
  for (const end of await Promise.allSettled(asked))
    assert.equal(end.status === 'rejected' && (end.reason as Error).name, 'AbortError');
  assert.equal((await searching.search({ viewer: 'ann', request }, context())).total, 2);
});

test('crates of a source that the settings no longer name are not found', async (t) => {
  const { search, get } = await newSearching(t, ['file:///made-up/']);
  assert.deepEqual(namesOf(await search({ viewer: 'ann', request }, context())), ['one']);
  assert.equal(await get({ viewer: 'ann', request: crateIdOf('two') }), null);
});
