import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import type { Database } from '../../../ports/database/database.ts';
import type { Source } from '../../../ports/storage/source.ts';
import { ownedByEverybody, toCrateLocation } from '../sources/sources.ts';
import { metadataOf, newSync, syncIn, watchedFolder, zipOf } from './sync.testing.ts';

const name = 'large-ro-crate-metadata.json';
const maxMetadata = 10e6;
const text = 'x'.repeat(90_000);
const large = (title: string): Buffer =>
  metadataOf(
    title,
    Array.from({ length: 50 }, (_, at) => ({ '@id': `#${at}`, description: text })),
  );

const triesIn = async (database: Database): Promise<number[]> =>
  (await database.query<{ tries: number }>('SELECT tries FROM crate_trying ORDER BY tries')).map(
    ({ tries }) => tries,
  );

/** A process that ends while it reads the crate. */
async function endIn(database: Database, source: Source): Promise<void> {
  const place = toCrateLocation(source, (await source.stat(name))!, ownedByEverybody)!;
  await syncIn(database).options.retries.begin(place);
}

/** How it is remembered which large crate was being read, whatever the index is kept in. */
export function tryingContract(backend: Backend): void {
  describe(`trying contract: ${backend.name}`, { skip: backend.skip ?? false }, () => {
    it('a large crate leaves no note behind, whatever comes of it', async (t) => {
      const { sync, titles, database } = await newSync(t, backend, { maxMetadata });
      const folder = await watchedFolder(t, {
        'bad-ro-crate-metadata.json': Buffer.concat([large('Bad'), Buffer.from('{')]),
        [name]: large('Large'),
        'small.zip': zipOf('Small'),
      });
      const [report] = await sync([folder.source]);
      assert.deepEqual([report?.read, report?.broken], [2, 1]);
      assert.deepEqual([await titles(), await triesIn(database)], [['Large', 'Small'], []]);
    });

    it('a crate that has ended the process before this one is told as broken, and read again once it changes', async (t) => {
      const lines: string[] = [];
      const { database } = await newSync(t, backend);
      const folder = await watchedFolder(t, { [name]: large('Large'), 'small.zip': zipOf('Small') });
      await endIn(database, folder.source);
      const { sync, titles, status } = syncIn(database, { maxMetadata, lines, isAfterFailure: true });
      const [report] = await sync([folder.source]);
      assert.deepEqual([folder.reads(), report?.unchanged, report?.broken], [['small.zip'], 0, 1]);
      assert.deepEqual([await titles(), await triesIn(database)], [['Small'], []]);
      const [told] = (await status()).broken_crates;
      assert.equal(told?.code, 'too_large');
      assert.match(told.reason, /crashed the indexing process/);
      assert.ok(lines.some((line) => line.includes('"crates.broken"')));

      await folder.write(name, large('Large no more'));
      await sync([folder.source]);
      assert.deepEqual([await titles(), (await status()).broken], [['Large no more', 'Small'], 0]);
    });

    it('a server that ends while it reads a large crate tries it once more, and no more than that', async (t) => {
      const { database } = await newSync(t, backend);
      const folder = await watchedFolder(t, { [name]: large('Large') });
      const other = await watchedFolder(t, { [name]: large('Other') });
      await endIn(database, folder.source);
      for (let time = 0; time < 2; time++) await endIn(database, other.source);
      assert.deepEqual(await triesIn(database), [1, 2]);
      const { sync, titles, status } = syncIn(database, { maxMetadata });
      await sync([folder.source, other.source]);
      assert.deepEqual([await titles(), (await status()).broken], [['Large'], 1]);
      assert.deepEqual([other.reads(), await triesIn(database)], [[], []]);
    });

    it('a note that this process could not take back is not held against the crate', async (t) => {
      const { sync, titles, database, options } = await newSync(t, backend, { maxMetadata });
      const folder = await watchedFolder(t, { [name]: large('Large') });
      const place = toCrateLocation(folder.source, (await folder.source.stat(name))!, ownedByEverybody)!;
      for (let time = 0; time < 3; time++) await options.retries.begin(place);
      await sync([folder.source]);
      assert.deepEqual([await titles(), await triesIn(database)], [['Large'], []]);
    });

    it('a crate that was cut off by its caller leaves no note behind', async (t) => {
      const { sync, database } = await newSync(t, backend, { maxMetadata });
      const folder = await watchedFolder(t, { [name]: large('Large') });
      const stop = new AbortController();
      const noted: number[][] = [];
      const stopping: Source = {
        ...folder.source,
        async open(object, signal) {
          noted.push(await triesIn(database));
          if (noted.length === 2) stop.abort();
          return folder.source.open(object, signal);
        },
      };
      await assert.rejects(sync([stopping], { signal: stop.signal }), { name: 'AbortError' });
      assert.deepEqual([noted, await triesIn(database)], [[[], [1]], []]);
    });
  });
}
