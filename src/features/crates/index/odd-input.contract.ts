import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { entity, type MadeUp } from './crate.testing.ts';
import { newIndex } from './index.testing.ts';

const fjord: MadeUp = { id: 'fjord', title: 'Fjords', published: '2021-05-03', year: 2021 };
const forest: MadeUp = { id: 'forest', title: 'Forests', published: '2019', year: 2019 };

/** Queries and corpora that nobody means to have. */
export function oddInputContract(backend: Backend): void {
  test('queries of 10,000 words, of one letter, and of words that every crate has are answered', async (t) => {
    const index = await newIndex(t, backend);
    const titles = Array.from({ length: 40 }, (_, at) => `Common data of station x${at}`);
    await index.put(...titles.map((title, at) => ({ id: `n${at}`, title, description: 'b' })));
    const long = await index.search(Array.from({ length: 10_000 }, (_, at) => `x${at % 300}`).join(' '));
    assert.equal(long.total, 40);
    assert.match(long.notes.join(' '), /first 10000 characters.*first 256 words/);
    const repeated = await index.search('x7 '.repeat(3000));
    assert.deepEqual([repeated.total, repeated.results[0]?.title], [1, titles[7]]);
    assert.equal((await index.search('b')).total, 40);
    const [first, ...rest] = (await index.search('common data x9')).results;
    assert.equal(first?.title, titles[9]);
    assert.equal(rest.length, 39, 'words that all have find all');
    assert.ok(rest.every(({ score }) => score > 0 && score < first!.score));
    assert.equal((await index.search('of')).total, 40, 'a stop word alone is looked for');
    assert.equal((await index.search('of x9')).total, 1);
  });

  test('Chinese is found by parts of its sentences, and letters by any way to write their marks', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(
      { id: 'tokyo', title: '東京大学の気候データ' },
      { id: 'kyoto', title: '京都の河川' },
      { id: 'cafe', title: 'Cafe\u0301 Zu\u0308rich' },
    );
    assert.deepEqual(await index.find('東京大学'), ['tokyo']);
    assert.deepEqual(await index.find('気候データ 河川'), ['tokyo', 'kyoto']);
    assert.deepEqual(await index.find('"京都の"'), ['kyoto']);
    for (const query of ['café', 'CAFE\u0301', 'cafe', 'Zürich', 'zu\u0308rich'])
      assert.deepEqual(await index.find(query), ['cafe'], query);
    assert.deepEqual(await index.find('\u0301\u0308'), [], 'marks alone are no word');
  });

  test('an index of no crate, of one, and of many that are alike', async (t) => {
    const index = await newIndex(t, backend);
    for (const query of ['', 'salt', '"salt water"', 'sal*', 'title:salt -water'])
      assert.deepEqual(await index.search(query).then(({ total, next }) => [total, next]), [0, null]);
    await index.put({ id: 'only', title: 'Salt' });
    const [only] = (await index.search('salt water')).results;
    assert.ok(only!.score > 0);
    const alike = Array.from({ length: 3000 }, (_, at) => ({ id: `n${at}`, title: 'Salt water' }));
    for (let at = 0; at < alike.length; at += 1000) await index.put(...alike.slice(at, at + 1000));
    const first = await index.search('salt water', { limit: 50 });
    assert.deepEqual([first.total, first.results.length], [3001, 50]);
    const second = await index.search('salt water', { limit: 50, offset: 50 });
    const ids = [...first.results, ...second.results].map(({ crateId }) => crateId);
    assert.equal(new Set(ids).size, 100, 'equals have an order');
    assert.deepEqual((await index.search('salt water', { limit: 50 })).results, first.results);
    assert.deepEqual(first.facets['kind'], [{ value: 'zip', count: 3001 }]);
  });

  test('a query of which nothing is left finds nothing, in every mode and whatever the filters, and says why', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest);
    const queries = ['🙂', '(((', '?', '*', 'AND OR NOT', '""', '-', '"🙂"', 'title:🙂', '\u200b', '— … !'];
    for (const query of queries)
      for (const mode of ['keyword', 'semantic', 'hybrid'] as const) {
        const { total, results, next, facets, notes } = await index.search(query, { mode });
        assert.deepEqual([total, results, next, facets['year'] ?? []], [0, [], null, []], query);
        assert.match(notes.join(' '), /Nothing in the query can be searched for.*[Ll]eave it empty/, query);
      }
    const filtered = await index.search('🙂', { filters: [['year', '2021']] });
    assert.deepEqual([filtered.total, filtered.notes.length], [0, 1]);
    // What is left of these is enough.
    assert.deepEqual(await index.find('🙂 fjord'), ['fjord']);
    assert.deepEqual(await index.find('-fjord'), ['forest']);
    assert.deepEqual(await index.find('year:2021'), ['fjord']);
    assert.equal((await index.search('', { filters: [['year', '2021']] })).total, 1);
    recordProof('B3:nothing-left-finds-nothing');
  });

  test("a crate's own metadata and preview files do not make it a hit, and other files of such names do", async (t) => {
    const index = await newIndex(t, backend);
    const own = [
      'ro-crate-metadata.json',
      'ro-crate-preview.html',
      'ro-crate-preview_files/crate.json',
      'a.csv',
    ];
    await index.put(
      {
        ...fjord,
        files: own,
        entities: [entity('ro-crate-preview.html', 'CreativeWork', { name: 'RO-Crate preview' })],
      },
      {
        ...forest,
        files: ['old-ro-crate-metadata.jsonld', 'sub/ro-crate-metadata.json', 'metadata/table.json'],
      },
    );
    for (const query of ['crate', 'preview', 'html', 'jsonld', 'ro-crate'])
      assert.deepEqual(await index.find(query), [], query);
    for (const query of ['metadata', 'json', 'file:metadata'])
      assert.deepEqual(await index.find(query), ['forest'], query);
    assert.deepEqual(await index.find('csv'), ['fjord']);
    recordProof('B3:own-metadata-file-is-no-hit');
  });
}
