import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import { crateIdOf, entity, madeUp, type MadeUp } from './crate.testing.ts';
import { namesOf, newIndex } from './index.testing.ts';
import type { LocalIndex } from './local-index.ts';
import { createIndexReader } from './reading.ts';

const withAuthor = (id: string): MadeUp => ({
  id,
  title: 'Salt',
  entities: [entity('./', 'Dataset', { author: 1 }), entity('#jane', 'Person', { name: 'Jane Doe' })],
});
const request = { mode: 'keyword', filters: [], limit: 100, offset: 0 } as const;

/** The same index; `call` is told of all that is asked of it. */
const watched = (local: LocalIndex, call: (sql: string) => void): LocalIndex => ({
  ...local,
  prepare: (sql) => {
    call(sql);
    return local.prepare(sql);
  },
});

/** What one search may take, and which crates it is about. */
export function boundsContract(backend: Backend): void {
  test('a search that is cancelled reads no further', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(...Array.from({ length: 250 }, (_, at) => withAuthor(`n${at}`)));
    const stop = new AbortController();
    let readings = 0;
    const local = watched(index.local, (sql) => {
      if (!sql.includes('FROM graphs')) return;
      readings++;
      stop.abort();
    });
    const reader = createIndexReader(index.database, local);
    const query = '*.author.name:jane -*.author.name:john';
    await assert.rejects(reader.search('ann', { ...request, query }, stop.signal), { name: 'AbortError' });
    assert.equal(readings, 1);
    const calls = [
      () => reader.search('ann', { ...request, query: 'salt' }, stop.signal),
      () => reader.fields('ann', stop.signal),
      () =>
        reader.byEntity(
          'ann',
          { ...request, type: '*', path: 'name', value: 'x', entry: null, exact: true },
          stop.signal,
        ),
    ];
    for (const call of calls) await assert.rejects(call(), { name: 'AbortError' });
  });

  test('a search that takes too much ends, and says what to do', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(...Array.from({ length: 30 }, (_, at) => withAuthor(`n${at}`)));
    const few = createIndexReader(index.database, index.local, { limits: { mostLookedInto: 20 } });
    const query = '*.author.name:jane';
    await assert.rejects(few.search('ann', { ...request, query }), {
      code: 'invalid_input',
      message: /Narrow it down/,
    });
    const short = createIndexReader(index.database, index.local, { limits: { mostMs: 0 } });
    await assert.rejects(short.search('ann', { ...request, query: 'salt' }), { code: 'invalid_input' });
  });

  test('the references of crates that other conditions leave out are not read', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(...Array.from({ length: 30 }, (_, at) => withAuthor(`n${at}`)));
    await index.put({ ...withAuthor('new'), year: 2020 });
    const reader = createIndexReader(index.database, index.local, { limits: { mostLookedInto: 1 } });
    const query = 'year:2020 *.author.name:jane';
    assert.deepEqual(namesOf(await reader.search('ann', { ...request, query })), ['new']);
  });

  test('only crates of the sources that are named are seen, counted and told of', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(withAuthor('here'), { ...withAuthor('gone'), source: 's3://gone/', year: 1999 });
    const { place } = madeUp({ id: 'broken', source: 's3://gone/' });
    await index.rows.putBroken([{ place, code: 'not_a_zip', reason: 'It is none.' }]);
    const reading = (sources: readonly string[] | null) =>
      createIndexReader(index.database, index.local, { sources });
    const named = reading(['file:///made-up/']);
    const page = await named.search('ann', { ...request, query: 'salt' });
    assert.deepEqual([namesOf(page), page.total, page.facets['year']], [['here'], 1, []]);
    const found = { ...request, type: '*', path: 'author.name', value: 'jane', entry: null, exact: false };
    assert.deepEqual(namesOf(await named.byEntity('ann', found)), ['here']);
    assert.equal((await named.fields('ann')).entities[0]!.crates, 1);
    assert.equal(await named.get('ann', crateIdOf('gone')), null);
    assert.equal(await named.get('ann', crateIdOf('broken')), null);
    assert.notEqual(await named.get('ann', crateIdOf('here')), null);
    const { crates, broken, sources, broken_crates } = await named.status('ann', { limit: 10, offset: 0 });
    assert.deepEqual([crates, broken, sources.length, broken_crates], [1, 0, 1, []]);

    const none = reading([]);
    assert.equal((await none.search('ann', { ...request, query: '' })).total, 0);
    assert.equal((await none.status('ann', { limit: 10, offset: 0 })).crates, 0);
    assert.equal((await reading(null).status('ann', { limit: 10, offset: 0 })).broken, 1);
  });

  test('NUL and halves of characters are kept and looked for as what replaces them', async (t) => {
    const index = await newIndex(t, backend);
    const named = (id: string, name: string): MadeUp => ({
      id,
      entities: [entity('./', 'Dataset', { name })],
    });
    await index.put(named('nul', 'a\0b'), named('half', 'a\ud800b'), named('plain', 'ab'));
    for (const value of ['\0', '\ufffd', '\ud800', 'a\0b'])
      assert.deepEqual((await index.find(`*.name:"${value}"`)).toSorted(), ['half', 'nul'], value);
  });
}
