import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { always, startHostileStore } from '../../../ports/storage/remote/hostile-store.testing.ts';
import { sourceUnreachableError, type Source } from '../../../ports/storage/source.ts';
import { openCrateSource } from '../sources/sources.ts';
import { inMemory, newSync, numbered, syncIn, watchedFolder, zipOf } from './sync.testing.ts';
import type { SourceReport } from './sync.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const statesOf = (reports: readonly SourceReport[]): string[] => reports.map(({ state }) => state);

it('a source that is down keeps its crates, and the others are brought up to date', async (t) => {
  const { sync, titles, status } = await newSync(t);
  const [down, up] = [await watchedFolder(t, numbered(2)), await watchedFolder(t, { 'a.zip': zipOf('A') })];
  await sync([down.source, up.source]);
  await rename(down.directory, `${down.directory}-away`);
  await up.write('b.zip', zipOf('B'));
  const reports = await sync([down.source, up.source]);
  assert.deepEqual(statesOf(reports), ['unreachable', 'ok']);
  assert.match(reports[0]!.reason!, /no such folder/);
  assert.deepEqual(await titles(), ['0', '1', 'A', 'B']);
  const noted = (await status()).sources.find(({ source }) => source === down.source.url);
  assert.deepEqual([noted?.state, noted?.reason], ['unreachable', reports[0]!.reason]);
  await rename(`${down.directory}-away`, down.directory);
  assert.deepEqual(statesOf(await sync([down.source])), ['ok']);
  recordProof('B11:source-not-reachable');
});

it('a folder that is empty although it held crates is not taken for one that was emptied', async (t) => {
  const { sync, titles } = await newSync(t);
  const folder = await watchedFolder(t);
  assert.deepEqual(statesOf(await sync([folder.source])), ['ok']);
  for (const [name, bytes] of Object.entries(numbered(2))) await folder.write(name, bytes);
  await sync([folder.source]);
  for (const name of Object.keys(numbered(2))) await folder.remove(name);
  const [report] = await sync([folder.source]);
  assert.match(report!.reason!, /is empty, although it had 2 crates\. Is it mounted\?/);
  assert.deepEqual([report?.state, await titles()], ['unreachable', ['0', '1']]);
  await folder.write('.keep', Buffer.from(''));
  const [emptied] = await sync([folder.source]);
  assert.deepEqual([emptied?.state, emptied?.removed, await titles()], ['ok', 2, []]);
});

it('of a source whose listing ends half way nothing leaves, and what was read stays', async (t) => {
  const { sync, titles } = await newSync(t);
  const folder = await watchedFolder(t, { 'a.zip': zipOf('A'), 'z.zip': zipOf('Z') });
  await sync([folder.source]);
  await folder.remove('z.zip');
  await folder.write('b.zip', zipOf('B'));
  const halfThere: Source = {
    ...folder.source,
    async list(options) {
      if (options?.after !== undefined)
        throw sourceUnreachableError(folder.source.url, 'It does not answer.');
      return { ...(await folder.source.list(options)), next: 'more' };
    },
  };
  const [report] = await sync([halfThere]);
  assert.deepEqual([report?.state, report?.read, report?.removed], ['unreachable', 1, 0]);
  assert.deepEqual(await titles(), ['A', 'B', 'Z']);
  folder.reads();
  const [whole] = await sync([folder.source]);
  assert.deepEqual([folder.reads(), whole?.removed, await titles()], [[], 1, ['A', 'B']]);
});

it('a source that fails while crates are read stops being read, and keeps what it has', async (t) => {
  const { sync, titles } = await newSync(t);
  const folder = await watchedFolder(t, numbered(30));
  let opens = 0;
  const failing: Source = {
    ...folder.source,
    async open(name, signal) {
      if (++opens > 5) throw sourceUnreachableError(folder.source.url, 'It does not answer.');
      return folder.source.open(name, signal);
    },
  };
  assert.deepEqual(statesOf(await sync([failing])), ['unreachable']);
  assert.ok(opens < 30);
  const kept = (await titles()).length;
  folder.reads();
  await sync([folder.source]);
  assert.deepEqual([folder.reads().length, (await titles()).length], [30 - kept, 30]);
});

it('wrong credentials and a store that is too slow are told, the key is not', async (t) => {
  const lines: string[] = [];
  const { sync, titles } = await newSync(t, inMemory, { lines });
  const store = await startHostileStore(t);
  const keys = { accessKeyId: 'id', secretAccessKey: 'very-secret', sessionToken: null };
  const where = { bucket: 'b', prefix: '', region: 'us-east-1', pathStyle: true, partBytes: 5_242_880 };
  const limits = { firstPauseMs: 5, longestPauseMs: 20, wholeMs: 200 };
  const options = { kind: 's3' as const, endpoint: store.endpoint, ...where, ...keys };
  const source = await openCrateSource(options, limits);
  t.after(() => source.close());
  const folder = await watchedFolder(t, { 'a.zip': zipOf('A') });
  const wrong = '<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>';
  for (const answer of [always(403, wrong), () => {}]) {
    store.answer = answer;
    const reports = await sync([source, folder.source]);
    assert.deepEqual(statesOf(reports), ['unreachable', 'ok']);
    assert.ok(!JSON.stringify([reports, lines]).includes('very-secret'));
  }
  assert.deepEqual(await titles(), ['A']);
});

it('crates that change or vanish while they are read are left for the next time, or leave', async (t) => {
  const { sync, titles } = await newSync(t);
  const folder = await watchedFolder(t, { 'a.zip': zipOf('A'), 'b.zip': zipOf('B'), 'c.zip': zipOf('C') });
  await sync([folder.source]);
  for (const name of ['a', 'b', 'c']) await folder.write(`${name}.zip`, zipOf(`${name} new`));
  const restless: Source = {
    ...folder.source,
    async open(name, signal) {
      if (name === 'a.zip') await folder.write(name, zipOf('a newest'));
      if (name === 'b.zip') await folder.remove(name);
      return folder.source.open(name, signal);
    },
  };
  const [report] = await sync([restless]);
  assert.deepEqual([report?.seen, report?.read, report?.removed], [3, 1, 1]);
  assert.deepEqual(await titles(), ['A', 'c new']);
  await sync([folder.source]);
  assert.deepEqual(await titles(), ['a newest', 'c new']);
});

it('cut off and gone on with, nothing is read again that was kept, and all is there in the end', async (t) => {
  const { sync, titles, status } = await newSync(t, inMemory, { embeddings: { provider: 'hash' } });
  const folder = await watchedFolder(t, numbered(60));
  const stop = new AbortController();
  let opens = 0;
  const stopping: Source = {
    ...folder.source,
    async open(name, signal) {
      if (++opens === 40) stop.abort();
      return folder.source.open(name, signal);
    },
  };
  await assert.rejects(sync([stopping], { signal: stop.signal }), { name: 'AbortError' });
  const kept = (await titles()).length;
  assert.ok(kept >= 30 && kept <= 40, String(kept));
  assert.match((await status()).sources[0]!.reason!, /interrupted/);
  folder.reads();
  const [report] = await sync([folder.source]);
  assert.deepEqual([folder.reads().length, report?.unchanged, report?.read], [60 - kept, kept, 60 - kept]);
  assert.deepEqual([(await titles()).length, (await status()).semantic.documents], [60, 60]);
});

it('what a process kept that was cut off before its end is found by meaning after the next sync', async (t) => {
  const folder = await watchedFolder(t, numbered(3));
  const stop = new AbortController();
  const first = await newSync(t, inMemory, {
    between: (rows) => ({
      ...rows,
      async forgetRemovals() {
        stop.abort();
        stop.signal.throwIfAborted();
      },
    }),
  });
  await assert.rejects(first.sync([folder.source], { signal: stop.signal }), { name: 'AbortError' });
  assert.equal((await first.titles()).length, 3);
  // Another process, which finds nothing that has changed.
  const { database } = first;
  const { sync, status } = syncIn(database, { embeddings: { provider: 'hash' } });
  const [report] = await sync([folder.source]);
  assert.equal(report?.read, 0);
  assert.equal((await status()).semantic.documents, 3);
});

it('a crate that brings out a fault of ours is told as broken, and the rest is read', async (t) => {
  const lines: string[] = [];
  const { sync, titles, status } = await newSync(t, inMemory, { lines });
  const folder = await watchedFolder(t, numbered(3));
  const faulty: Source = {
    ...folder.source,
    open: (name, signal) =>
      name === '0001.zip' ? Promise.reject(new TypeError('a bug')) : folder.source.open(name, signal),
  };
  await sync([faulty]);
  assert.deepEqual(await titles(), ['0', '2']);
  assert.deepEqual(
    (await status()).broken_crates.map(({ code }) => code),
    ['internal'],
  );
  assert.ok(!JSON.stringify(await status()).includes('a bug') && lines.join('').includes('a bug'));
});

it('a folder that vanishes while it is listed is down, and not empty', async (t) => {
  const { sync, titles } = await newSync(t);
  const folder = await watchedFolder(t, { 'a.zip': zipOf('A') });
  await sync([folder.source]);
  await rm(join(folder.directory), { recursive: true });
  assert.deepEqual(statesOf(await sync([folder.source])), ['unreachable']);
  assert.deepEqual(await titles(), ['A']);
});

it('a sync that was given up for dead ends once it hears of it, and removes nothing', async (t) => {
  const { sync, titles, database } = await newSync(t);
  const folder = await watchedFolder(t, { 'a.zip': zipOf('A'), 'b.zip': zipOf('B') });
  await sync([folder.source]);
  await folder.remove('a.zip');
  await folder.write('c.zip', zipOf('C'));
  t.mock.timers.enable({ apis: ['setInterval'] });
  const slow: Source = {
    ...folder.source,
    async open(name, signal) {
      await database.query("UPDATE crate_leases SET holder = 'another'");
      const told = once(signal!, 'abort');
      t.mock.timers.tick(15_000);
      await told;
      return folder.source.open(name, signal);
    },
  };
  await assert.rejects(sync([slow]), { code: 'index_busy' });
  assert.ok((await titles()).includes('A'));
  assert.deepEqual(await database.query('SELECT holder FROM crate_leases'), [{ holder: 'another' }]);
});
