import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { it } from 'node:test';
import type { Source } from '../../../ports/storage/source.ts';
import { inMemory, metadataOf, newSync, numbered, watchedFolder } from './sync.testing.ts';
import type { SourceReport } from './sync.ts';

it('a slow source is read by as many at a time as by a fast one, and told of as it goes', async (t) => {
  const { sync, time } = await newSync(t);
  const folder = await watchedFolder(t, numbered(40));
  let [now, most] = [0, 0];
  const slow: Source = {
    ...folder.source,
    async open(name, signal) {
      most = Math.max(most, ++now);
      await pause(5);
      now--;
      time.now += 30;
      return folder.source.open(name, signal);
    },
  };
  const told: SourceReport[] = [];
  await sync([slow], { report: (progress) => void told.push(progress) });
  assert.equal(most, 8);
  // 40 reads of 30 ms each by the clock: some 12 reports of 100 ms, and the last.
  assert.ok(told.length > 5 && told.length <= 14, String(told.length));
  assert.deepEqual([told.at(-1)?.read, told.at(-1)?.seen], [40, 40]);
  const reads = told.map(({ read }) => read);
  assert.deepEqual(
    reads,
    reads.toSorted((a, b) => a - b),
  );
});

it('what is held in memory at a time is bounded by crates, by entities and by text', async (t) => {
  const batches: number[] = [];
  const { sync, titles } = await newSync(t, inMemory, {
    maxMetadata: 10e6,
    between: (writer) => ({
      ...writer,
      put(batch) {
        batches.push(batch.length);
        return writer.put(batch);
      },
    }),
  });
  const small = await watchedFolder(t, {});
  for (let at = 0; at < 510; at++) await small.write(`${at}-ro-crate-metadata.json`, metadataOf(`${at}`));
  await sync([small.source]);
  assert.deepEqual(batches.splice(0), [500, 10]);

  const texts = (count: number): object[] =>
    Array.from({ length: count }, (_, at) => ({ '@id': `#${at}`, description: 'x'.repeat(100_000) }));
  const wordy = await watchedFolder(t, {});
  for (let at = 0; at < 6; at++)
    await wordy.write(`${at}-ro-crate-metadata.json`, metadataOf(`wordy ${at}`, texts(30)));
  await wordy.write('large-ro-crate-metadata.json', metadataOf('large', texts(90)));
  await wordy.write('too-large-ro-crate-metadata.json', metadataOf('too large', texts(101)));
  const [report] = await sync([wordy.source]);
  assert.deepEqual([report?.read, report?.broken], [7, 1]);
  assert.ok(Math.max(...batches) <= 3, String(batches));
  assert.equal((await titles()).length, 517);
});

it('2,000 crates are taken in, and looked at again without being read', async (t) => {
  const { sync, status } = await newSync(t);
  const folder = await watchedFolder(t, {});
  // At once, since one after the other in the background takes longer than the test.
  for (let at = 0; at < 2000; at++)
    writeFileSync(join(folder.directory, `${at}-ro-crate-metadata.json`), metadataOf(`crate ${at}`));
  const [first] = await sync([folder.source]);
  assert.deepEqual([first?.read, first?.broken, (await status()).crates], [2000, 0, 2000]);
  folder.reads();
  const [second] = await sync([folder.source]);
  assert.deepEqual([folder.reads(), second?.unchanged], [[], 2000]);
});
