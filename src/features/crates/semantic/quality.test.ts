import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { madeUp } from '../index/crate.testing.ts';
import type { SearchMode } from '../index/reading.ts';
import type { CrateMetadata } from '../crate.ts';
import { tokenizeWords } from '../text/words.ts';
import { readMetadata } from '../metadata/metadata.ts';
import { measureQuality, openIndexOf, openFts5, openProduct, readCollection } from './collections.testing.ts';

// All that are shipped. The ranking was made while looking at them: others are measured with `node bench/quality.ts FOLDER`.
test('on the three collections that are shipped, keyword and hybrid search rank at least as well as FTS5 with its porter stemmer', async () => {
  for (const name of ['cranfield', 'cacm', 'npl']) {
    const collection = readCollection(name);
    await using product = await openProduct(collection);
    const baseline = await measureQuality(collection, openFts5(collection));
    for (const mode of ['keyword', 'hybrid'] as const) {
      const quality = await measureQuality(collection, product.by(mode));
      assert.ok(quality >= baseline, `${name}, ${mode}: ${quality} against ${baseline}`);
    }
  }
  recordProof('B3:ranks-as-well-as-fts5');
});

const folder = join(import.meta.dirname, '../../../../fixtures/crates/metadata');

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
  const { database, reader } = await openIndexOf(crates);
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
  for (const mode of ['semantic', 'hybrid'] as const)
    for (const query of ['zyzzyva', 'qwrtz plmokn', '🙂', '*'])
      assert.equal((await search(query, mode)).total, 0, query);
});

/** Words that say what a few crates are about, and the others are not. */
function listRareWords(all: readonly Pick<CrateMetadata, 'title' | 'description' | 'keywords'>[]): string[] {
  const counts = new Map<string, number>();
  for (const { title, description, keywords } of all) {
    const text = [title, description, ...keywords].join(' ');
    const words = new Set(Array.from(tokenizeWords(text), ({ form }) => form.toLowerCase()));
    for (const word of words) if (/^[a-z]{5,}$/.test(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count <= 3).map(([word]) => word);
}

test('of a hundred crates about many things, meaning adds hardly any to those that have a rare word', async (t) => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  const about = await Promise.all(names.map(async (id) => ({ id, bytes: await readFile(join(folder, id)) })));
  const small = about.filter(({ bytes }) => bytes.length < 100_000);
  const crates = small.map(({ id, bytes }) => ({ ...madeUp({ id }), metadata: readMetadata(bytes) }));
  const { database, reader } = await openIndexOf(crates);
  t.after(() => database.close());
  const search = async (query: string, mode: SearchMode) => {
    const found = await reader.search('ann', { query, mode, filters: [], limit: 100, offset: 0 });
    return new Set(found.results.map(({ crateId }) => crateId));
  };
  const words = listRareWords(crates.map(({ metadata }) => metadata));
  assert.ok(crates.length > 90 && words.length > 500, `${crates.length} crates, ${words.length} words`);
  for (const mode of ['semantic', 'hybrid'] as const) {
    let added = 0;
    for (const word of words) {
      const byWords = await search(word, 'keyword');
      const found = await search(word, mode);
      assert.ok(byWords.isSubsetOf(found) || mode === 'semantic', `${mode} ${word}`);
      const others = found.difference(byWords).size;
      assert.ok(others <= 10, `${mode} ${word}: ${others} crates without the word`);
      added += others;
    }
    assert.ok(
      added / words.length < 0.5,
      `${mode}: ${added} crates without the word for ${words.length} words`,
    );
  }
  recordProof('B3:only-what-is-near-by-meaning');
});
