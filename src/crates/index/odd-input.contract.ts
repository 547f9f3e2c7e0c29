import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../database/backend.testing.ts';
import { newIndex } from './index.testing.ts';

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
}
