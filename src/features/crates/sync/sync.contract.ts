import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import { eventually } from '../../../platform/eventually.testing.ts';
import type { Source } from '../../../ports/storage/source.ts';
import { acquireSyncLease } from './lease.ts';
import { metadataOf, newSync, plainZip, watchedFolder, zipOf } from './sync.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

/** What is the same whatever the index is kept in. */
export function syncContract(backend: Backend): void {
  describe(`sync contract: ${backend.name}`, { skip: backend.skip ?? false }, () => {
    it('only what is new or has changed is read, under the same ids, and what was removed leaves', async (t) => {
      const { sync, titles, database } = await newSync(t, backend);
      const folder = await watchedFolder(t, {
        'a.zip': zipOf('A'),
        'b/ro-crate-metadata.json': metadataOf('B'),
        'c-ro-crate-metadata.json': metadataOf('C'),
      });
      const ids = () => database.query('SELECT crate_id, object FROM crates ORDER BY crate_id');
      const [first] = await sync([folder.source]);
      const none = { state: 'ok', reason: null, broken: 0 };
      const source = folder.source.url;
      assert.deepEqual(first, { ...none, source, seen: 3, read: 3, unchanged: 0, removed: 0 });
      assert.deepEqual(await titles(), ['A', 'B', 'C']);
      const before = await ids();
      folder.reads();

      await folder.write('a.zip', zipOf('A two'));
      const [second] = await sync([folder.source]);
      assert.deepEqual(folder.reads(), ['a.zip']);
      assert.deepEqual(second, { ...none, source, seen: 3, read: 1, unchanged: 2, removed: 0 });
      assert.deepEqual([await titles(), await ids()], [['A two', 'B', 'C'], before]);

      await folder.remove('b/ro-crate-metadata.json');
      const [third] = await sync([folder.source]);
      assert.deepEqual([folder.reads(), await titles()], [[], ['A two', 'C']]);
      assert.deepEqual(third, { ...none, source, seen: 2, read: 0, unchanged: 2, removed: 1 });
      recordProof('B2:unchanged-is-not-read-again', 'B2:removed-leaves-the-index');
    });

    it('what an earlier version of the index has read is read again, once', async (t) => {
      const { sync, titles, database } = await newSync(t, backend);
      const folder = await watchedFolder(t, { 'a.zip': zipOf('A'), 'bad.zip': Buffer.from('no zip') });
      await sync([folder.source]);
      await database.query('UPDATE crates SET index_version = 0');
      folder.reads();
      const [again] = await sync([folder.source]);
      assert.deepEqual([folder.reads().toSorted(), again?.read], [['a.zip', 'bad.zip'], 1]);
      const [last] = await sync([folder.source]);
      assert.deepEqual([folder.reads(), last?.unchanged, await titles()], [[], 1, ['A']]);
    });

    it('a broken crate is told with its reason, stops no other, and is not read again until it changes', async (t) => {
      const { sync, titles, status } = await newSync(t, backend);
      const files = { 'bad.zip': Buffer.from('no zip'), 'bad/ro-crate-metadata.json': Buffer.from('{') };
      const folder = await watchedFolder(t, { ...files, 'good.zip': zipOf('Good') });
      const [report] = await sync([folder.source]);
      assert.deepEqual([report?.read, report?.broken, await titles()], [1, 2, ['Good']]);
      const { broken, broken_crates: told } = await status();
      assert.deepEqual([broken, told.map(({ code }) => code).sort()], [2, ['metadata_invalid', 'not_a_zip']]);
      folder.reads();
      const [again] = await sync([folder.source]);
      assert.deepEqual([folder.reads(), again?.unchanged, again?.broken], [[], 1, 2]);
      assert.equal((await status()).broken, again?.broken, 'sync_index and index_status say the same');
      await folder.write('bad.zip', zipOf('Mended'));
      await sync([folder.source]);
      assert.deepEqual([folder.reads(), await titles()], [['bad.zip'], ['Good', 'Mended']]);
      assert.equal((await status()).broken, 1);
      recordProof('B2:broken-is-reported-and-stops-no-other');
    });

    it('an archive without metadata is payload in the folder of a crate, and a broken crate elsewhere', async (t) => {
      const { sync, titles, status, reader, database } = await newSync(t, backend);
      const folder = await watchedFolder(t, {
        'crate/data/raw.zip': plainZip(),
        'crate/inner.zip': zipOf('Inner'),
        'crate/ro-crate-metadata.json': metadataOf('Outer'),
        'crate/torn.zip': Buffer.from('no zip'),
        'crate/z.zip': plainZip(),
        'crates.zip': plainZip(),
      });
      const told = async () =>
        (await status()).broken_crates
          .map(({ resource_locator: at }) => at.slice(folder.source.url.length))
          .sort();
      const [first] = await sync([folder.source]);
      assert.deepEqual(await titles(), ['Inner', 'Outer']);
      assert.deepEqual(await told(), ['crate/torn.zip', 'crates.zip']);
      assert.deepEqual([first?.seen, first?.read, first?.broken], [4, 2, 2]);
      const [raw] = await database.query<{ crate_id: string }>(
        "SELECT crate_id FROM crates WHERE object = 'crate/data/raw.zip'",
      );
      assert.equal(await reader.get('ann', raw!.crate_id), null);
      folder.reads();

      const [second] = await sync([folder.source]);
      assert.deepEqual([folder.reads(), second?.seen, second?.unchanged, second?.broken], [[], 4, 2, 2]);

      // The same archives change sides with the metadata, and nobody reads them again for that.
      await folder.remove('crate/ro-crate-metadata.json');
      const [third] = await sync([folder.source]);
      assert.deepEqual(await told(), ['crate/data/raw.zip', 'crate/torn.zip', 'crate/z.zip', 'crates.zip']);
      assert.deepEqual([folder.reads(), third?.seen, third?.removed], [[], 5, 1]);
      await folder.write('crate/ro-crate-metadata.json', metadataOf('Outer'));
      await sync([folder.source]);
      assert.deepEqual(folder.reads(), ['crate/ro-crate-metadata.json']);
      assert.deepEqual(await told(), ['crate/torn.zip', 'crates.zip']);

      await folder.write('crate/z.zip', zipOf('Z'));
      await folder.remove('crate/data/raw.zip');
      const [last] = await sync([folder.source]);
      assert.equal(last?.removed, 0);
      assert.deepEqual(
        [await titles(), await told()],
        [
          ['Inner', 'Outer', 'Z'],
          ['crate/torn.zip', 'crates.zip'],
        ],
      );
    });

    it('of two syncs at once the second is told that the index is busy; a dead one is in the way for a minute', async (t) => {
      const { sync, titles, status, database, options, time } = await newSync(t, backend);
      const folder = await watchedFolder(t, { 'a.zip': zipOf('A') });
      const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const list: Source['list'] = async (options) => {
        begun.resolve();
        await gate.promise;
        return folder.source.list(options);
      };
      const first = sync([{ ...folder.source, list }]);
      await begun.promise;
      await assert.rejects(sync([folder.source]), { code: 'index_busy' });
      assert.equal((await status()).syncing, true);
      gate.resolve();
      await first;
      assert.deepEqual([await titles(), (await status()).syncing], [['A'], false]);

      t.mock.timers.enable({ apis: ['setInterval'] });
      const dead = (await acquireSyncLease(database, 'sync', options.clock))!;
      time.now += 59_999;
      await assert.rejects(sync([folder.source]), { code: 'index_busy' });
      time.now += 1;
      await folder.write('a.zip', zipOf('A two'));
      await sync([folder.source]);
      assert.deepEqual(await titles(), ['A two']);
      // It was not dead after all: it is told to stop.
      t.mock.timers.tick(15_000);
      await new Promise<void>((resolve) => dead.lost.addEventListener('abort', () => resolve()));
      await dead[Symbol.asyncDispose]();
      assert.deepEqual(await database.query('SELECT * FROM crate_leases'), []);
    });

    it('a lease that is renewed is kept, and one that was not finished leaves word of it', async (t) => {
      const { database, time } = await newSync(t, backend);
      const clock = (): number => time.now;
      t.mock.timers.enable({ apis: ['setInterval'] });
      const lease = (await acquireSyncLease(database, 'x', clock))!;
      for (let minute = 0; minute < 3; minute++) {
        time.now += 50_000;
        t.mock.timers.tick(15_000);
        const until = async () => (await database.query('SELECT until FROM crate_leases'))[0]?.['until'];
        await eventually(async () => (await until()) === time.now + 60_000);
        assert.equal(await acquireSyncLease(database, 'x', clock), null);
      }
      await lease[Symbol.asyncDispose]();
      const next = (await acquireSyncLease(database, 'x', clock))!;
      assert.deepEqual([lease.wasCutOff, next.wasCutOff], [false, true]);
      await next.finish();
      await using last = (await acquireSyncLease(database, 'x', clock))!;
      assert.equal(last.wasCutOff, false);
    });

    it('sources that are not named any more leave the index where that is asked for, and only there', async (t) => {
      const { sync, titles, status } = await newSync(t, backend);
      const one = await watchedFolder(t, { 'a.zip': zipOf('A') });
      const folder = await watchedFolder(t, { 'b.zip': zipOf('B'), 'c.zip': plainZip() });
      // A folder may be another server's.
      const other = { ...folder.source, kind: 's3', url: 's3://other/', knownAs: 's3://other/' } as const;
      await sync([one.source, other]);
      await sync([one.source]);
      assert.deepEqual(await titles(), ['A', 'B']);
      await sync([one.source], { forget: true });
      assert.deepEqual(await titles(), ['A']);
      assert.deepEqual(
        (await status()).sources.map(({ source, broken }) => [source, broken]),
        [[one.source.url, 0]],
      );
    });

    it('a folder that another server reads stays in an index that they share, until nobody reads it for a month', async (t) => {
      const { sync, titles, database, time } = await newSync(t, backend);
      const mine = await watchedFolder(t, { 'a.zip': zipOf('A') });
      const theirs = await watchedFolder(t, { 'b.zip': zipOf('B') });
      await sync([theirs.source]);
      await sync([mine.source], { forget: true });
      assert.deepEqual(await titles(), database.isShared ? ['A', 'B'] : ['A']);
      time.now += 31 * 24 * 3600 * 1000;
      await sync([mine.source], { forget: true });
      assert.deepEqual(await titles(), ['A']);
    });
  });
}
