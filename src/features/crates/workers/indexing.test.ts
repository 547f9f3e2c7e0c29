import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { acquireSyncLease } from '../sync/lease.ts';
import { createIndexingWorker, createSearchingWorker, type SyncProgress } from './workers.ts';

const metadata = JSON.stringify({ '@graph': [{ '@id': './', '@type': 'Dataset', name: 'Salt' }] });

/** A source with one crate, the workers of its index, and the lease as another process would have it. */
async function newIndex(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'indexing-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'source', 'salt'), { recursive: true });
  await writeFile(join(folder, 'source', 'salt', 'ro-crate-metadata.json'), metadata);
  const location = join(folder, 'crates.db');
  const sources = [
    { options: { kind: 'folder', directory: join(folder, 'source') }, packsOf: null },
  ] as const;
  const file = join(folder, 'crates-index.db');
  const settings = { location, file, semantics: 'off', endpoint: null, sources, maxMetadata: 1e6 } as const;
  const database = await openDatabase(location, 'crates');
  t.after(() => database.close());
  return {
    indexing: createIndexingWorker(settings, createLog('off'), { isAfterFailure: false }),
    searching: createSearchingWorker(settings, createLog('off')),
    takeLease: async () => (await acquireSyncLease(database, 'sync', Date.now))!,
  };
}

const { signal } = new AbortController();
const request = { query: 'salt', mode: 'keyword', filters: [], limit: 10, offset: 0 } as const;

test('a sync waits for that of another process, says so, and then finds what there is', async (t) => {
  const { indexing, takeLease } = await newIndex(t);
  const lease = await takeLease();
  const heard: SyncProgress[] = [];
  const report = (progress: unknown): void => {
    heard.push(progress as SyncProgress);
    void lease[Symbol.asyncDispose]();
  };
  await assert.rejects(indexing.sync({ forget: false, wait: false }, { signal, report: () => {} }), {
    code: 'index_busy',
  });
  const { reports, joined } = await indexing.sync({ forget: false, wait: true }, { signal, report });
  assert.deepEqual([reports[0]!.read, joined, heard[0]], [1, false, { waiting: true }]);
});

test('a sync that waits can be cancelled', async (t) => {
  const { indexing, takeLease } = await newIndex(t);
  await using _lease = await takeLease();
  const stop = new AbortController();
  const waiting = indexing.sync(
    { forget: false, wait: true },
    { signal: stop.signal, report: () => stop.abort() },
  );
  await assert.rejects(waiting, { name: 'AbortError' });
});

test('searches say that crates are being indexed, whichever process does so', async (t) => {
  const { indexing, searching, takeLease } = await newIndex(t);
  await indexing.sync({ forget: false, wait: false }, { signal, report: () => {} });
  const context = { signal, report: () => {} };
  const search = async () => [
    (await searching.search({ viewer: 'ann', request }, context)).notes,
    (
      await searching.byEntity(
        {
          viewer: 'ann',
          request: { type: '*', path: 'name', value: 'Salt', entry: null, exact: true, limit: 1, offset: 0 },
        },
        context,
      )
    ).notes,
  ];
  assert.deepEqual(await search(), [[], []]);
  const lease = await takeLease();
  for (const notes of await search()) assert.match(notes.join(), /^Crates are being indexed now/);
  await lease.finish();
  assert.deepEqual(await search(), [[], []]);
  recordProof('B10:search-while-indexing-says-so');
});
