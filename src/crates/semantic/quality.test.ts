import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordProof } from '../../requirements.testing.ts';
import { madeUp } from '../index/crate.testing.ts';
import type { SearchMode } from '../index/reading.ts';
import { readMetadata } from '../metadata/metadata.ts';
import { measureQuality, openFitted, openFts5, openProduct, readCollection } from './collections.testing.ts';

test('keyword and hybrid search rank at least as well as FTS5 with its porter stemmer', async () => {
  for (const name of ['cranfield', 'cacm']) {
    const collection = readCollection(name);
    await using product = await openProduct(collection, 'lsa');
    const baseline = await measureQuality(collection, openFts5(collection));
    for (const mode of ['keyword', 'hybrid'] as const) {
      const quality = await measureQuality(collection, product.by(mode));
      assert.ok(quality >= baseline, `${name}, ${mode}: ${quality} against ${baseline}`);
    }
  }
  recordProof('B3:ranks-as-well-as-fts5');
});

const folder = join(import.meta.dirname, '../../../fixtures/crates/metadata');

test('of thirteen crates, those that a word has nothing to do with are not found', async (t) => {
  const all = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  const about = await Promise.all(
    all.map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })),
  );
  const isRetropath = ({ bytes }: { bytes: Buffer }): boolean => /retropath/i.test(bytes.toString());
  const some = [...about.filter(isRetropath), ...about.filter((one) => !isRetropath(one))]
    .filter(({ bytes }) => bytes.length < 100_000)
    .slice(0, 13);
  const crates = some.map(({ name, bytes }) => ({
    ...madeUp({ id: name }),
    metadata: readMetadata(bytes),
  }));
  const { database, reader } = await openFitted(crates, 'lsa');
  t.after(() => database.close());
  const search = (query: string, mode: SearchMode) =>
    reader.search('ann', { query, mode, filters: [], limit: 100, offset: 0 });
  const words = await search('retropath', 'keyword');
  assert.ok(words.total >= 1 && words.total <= 4);
  for (const mode of ['semantic', 'hybrid'] as const) {
    const { total, results, facets } = await search('retropath', mode);
    assert.ok(total >= 1 && total <= 4, `${mode}: ${total}`);
    assert.equal(results.length, total);
    assert.ok(results.every(({ score }) => score > 0));
    const counted = facets['kind']!.reduce((sum, { count }) => sum + count, 0);
    assert.equal(counted, total, 'facets count what was found');
  }
  assert.equal((await search('zyzzyva', 'hybrid')).total, 0);
  recordProof('B3:only-what-is-near-by-meaning');
});
