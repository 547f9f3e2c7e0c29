import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import { entity, madeUp, crateIdOf, type MadeUp } from './crate.testing.ts';
import { boundsContract } from './bounds.contract.ts';
import { entityContract } from './entities.contract.ts';
import { historyContract } from './history.contract.ts';
import { namesOf, newIndex } from './index.testing.ts';
import { oddInputContract } from './odd-input.contract.ts';
import type { SearchPage } from './reading.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

/** What the index must do on every database. */
export function indexContract(backend: Backend): void {
  describe(`${backend.name}: index`, { skip: backend.skip ?? false }, () => {
    wordContract(backend);
    filterContract(backend);
    ownerContract(backend);
    keepingContract(backend);
    entityContract(backend);
    boundsContract(backend);
    oddInputContract(backend);
    historyContract(backend);
  });
}

const fjord: MadeUp = {
  id: 'fjord',
  title: 'Climate of the fjords',
  description: 'Measured temperatures in deep water, with salt and currents.',
  authors: ['Jane Döe'],
  keywords: ['oceanography', 'time series'],
  license: { id: 'https://spdx.org/licenses/CC-BY-4.0', name: 'Creative Commons Attribution 4.0' },
  published: '2021-05-03',
  year: 2021,
  identifiers: ['https://doi.org/10.5281/zenodo.123456'],
  profiles: ['https://w3id.org/ro/wfrun/process/0.5'],
  files: ['data/results_2021.csv', 'scripts/plot.py'],
  entities: [
    entity('./', 'Dataset', { name: 'Climate of the fjords' }),
    entity('#sensor', 'Thing', { name: 'Conductivity sensor' }),
  ],
};
const forest: MadeUp = {
  id: 'forest',
  title: 'Forests',
  description: 'How the climate changes forests. Water, salt, and the water again.',
  authors: ['John Roe'],
  published: '2019',
  year: 2019,
  license: { id: null, name: 'MIT' },
  kind: 'folder',
};

function wordContract(backend: Backend): void {
  test('words are found in title, description, authors, keywords, entity names and file names', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest);
    const found = async (query: string) =>
      (await index.search(query)).results.flatMap(({ matched }) => matched);
    assert.deepEqual(await found('fjord'), ['title']);
    assert.deepEqual(await found('currents'), ['description']);
    assert.deepEqual(await found('doe'), ['author']);
    assert.deepEqual(await found('oceanography'), ['keyword']);
    assert.deepEqual(await found('sensors'), ['entity']);
    assert.deepEqual(await found('results'), ['file']);
    assert.deepEqual(await found('10.5281/zenodo.123456'), ['identifier']);
    recordProof('B3:all-text-fields-searched');
  });

  test('the title weighs more than the description, and what has more of the words comes first', async (t) => {
    const index = await newIndex(t, backend);
    await index.put({ id: 'titled', title: 'Glaciers', description: 'Ice' });
    await index.put({ id: 'told', title: 'Ice', description: 'Glaciers' });
    assert.deepEqual(await index.find('glaciers'), ['titled', 'told']);
    await index.put(fjord, forest, { id: 'rare', title: 'Zooplankton' });
    assert.equal((await index.find('climate zooplankton'))[0], 'rare');
    assert.deepEqual(await index.find('zooplankton climate changes'), ['rare', 'forest', 'fjord']);
    assert.deepEqual(await index.find('water climate forests'), ['forest', 'fjord']);
    recordProof('B3:ranked');
  });

  test('phrases, prefixes, words of a field, and words that must not be there', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest);
    assert.deepEqual(await index.find('"deep water"'), ['fjord']);
    assert.deepEqual(await index.find('"water deep"'), []);
    assert.deepEqual(await index.find('"series oceanography"'), [], 'not from one keyword to the next');
    assert.deepEqual(await index.find('ocean*'), ['fjord']);
    assert.deepEqual(await index.find('conductiv*'), ['fjord']);
    assert.deepEqual(await index.find('author:roe'), ['forest']);
    assert.deepEqual(await index.find('title:water'), []);
    assert.deepEqual(await index.find('file:results_2021.csv'), ['fjord']);
    assert.deepEqual(await index.find('description:"climate changes"'), ['forest']);
    assert.deepEqual(await index.find('author:do*'), ['fjord']);
    assert.deepEqual(await index.find('climate -fjords'), ['forest']);
    assert.deepEqual(await index.find('climate NOT "deep water"'), ['forest']);
    assert.deepEqual(await index.find('climate -type:Thing'), ['forest']);
    recordProof('B3:phrase-prefix-and-field');
  });

  test('a snippet shows the words that were found', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, {
      id: 'long',
      description: `${'word '.repeat(200)}needle in hay ${'word '.repeat(200)}`,
    });
    const [result] = (await index.search('temperature deep')).results;
    assert.match(result!.snippet, /Measured \*\*temperatures\*\* in \*\*deep\*\* water/);
    assert.deepEqual([result!.authors, result!.year], [['Jane Döe'], 2021]);
    const [long] = (await index.search('needle')).results;
    assert.match(long!.snippet, /^…(word )+\*\*needle\*\* in hay( word)+…$/);
    assert.ok(long!.description.length <= 501);
  });

  test('no text of a query is an error', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest);
    for (const query of hostile) {
      const page = await index.search(query);
      assert.ok(page.total <= 2, query);
    }
    assert.equal((await index.search('*"" ()-:')).total, 0, 'without words nothing is found');
    assert.deepEqual((await index.search('foo:climate')).notes, [
      'There is no field "foo": it was searched for as words.',
    ]);
    assert.match((await index.search('w '.repeat(9000))).notes.join(), /Only the first 10000 characters/);
  });

  test('pages follow each other without gaps or repeats, also where scores are equal', async (t) => {
    const index = await newIndex(t, backend);
    const same = Array.from({ length: 30 }, (_, at) => ({ id: `same${at}`, title: 'Equal' }));
    await index.put(...same);
    const whole = await index.find('equal');
    const paged: string[] = [];
    for (let offset: number | null = 0; offset !== null;) {
      const page: SearchPage = await index.search('equal', { limit: 7, offset });
      assert.equal(page.total, 30);
      paged.push(...namesOf(page));
      offset = page.next;
    }
    assert.deepEqual(paged, whole);
    assert.equal(new Set(paged).size, 30);
  });

  test('the search by meaning is unsupported where it is off; both together are words alone then', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord);
    await assert.rejects(index.search('water', { mode: 'semantic' }), { code: 'unsupported' });
    const page = await index.search('water', { mode: 'hybrid' });
    assert.deepEqual([page.mode, page.total, page.notes.length], ['keyword', 1, 1]);
  });
}

const hostile = [
  '"', '"unbalanced', "'; DROP TABLE crates; --", '((((', 'a AND', 'OR OR OR', 'NOT', '-', '--', '*', '**a*', ':', 'title:', 'title:"',
  '\0', 'nul\0inside', 'NEAR(a b)', '{a}^2~', '\\', '%_', '\ud800', 'year:abc', 'type:', 'Person.:x', '.a:b', '🧪'.repeat(100),
  '"'.repeat(9999), '('.repeat(10_000), `${'a'.repeat(9999)}*`, 'title:'.repeat(1600), 'x '.repeat(5000), '\u202e', '١٢٣', '東京 大学',
]; // prettier-ignore

function filterContract(backend: Backend): void {
  test('filters by type, licence, year, profile, source and kind', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest);
    const cases: [string, string, string[]][] = [
      ['type', 'thing', ['fjord']],
      ['license', 'cc-by', ['fjord']],
      ['licence', 'creative commons', ['fjord']],
      ['license', 'MIT', ['forest']],
      ['year', '2021', ['fjord']],
      ['year', '2018..2020', ['forest']],
      ['year', '2020..', ['fjord']],
      ['profile', 'wfrun/process', ['fjord']],
      ['source', 'made-up', ['fjord', 'forest']],
      ['source', 'elsewhere', []],
      ['kind', 'folder', ['forest']],
      ['author', 'jane', ['fjord']],
      ['title', '"the fjords"', ['fjord']],
      ['Thing.name', 'sensor', ['fjord']],
    ];
    for (const [name, value, expected] of cases) {
      assert.deepEqual(
        (await index.find('', { filters: [[name, value]] })).toSorted(),
        expected,
        `${name} ${value}`,
      );
      assert.deepEqual((await index.find('climate', { filters: [[name, value]] })).toSorted(), expected);
    }
    assert.deepEqual(await index.find('climate year:2019 kind:folder'), ['forest']);
  });

  test('a filter that does not exist, is empty or is no year is invalid input, and says what there is', async (t) => {
    const index = await newIndex(t, backend);
    for (const [name, value] of [
      ['colour', 'red'],
      ['type', ' '],
      ['year', 'soon'],
    ] as const)
      await assert.rejects(index.search('', { filters: [[name, value]] }), { code: 'invalid_input' });
    await assert.rejects(index.search('', { filters: [['colour', 'red']] }), /title, .*license/);
  });

  test('without words the newest come first', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(forest, fjord, { id: 'undated' });
    const packed = ['2026-11-19T12:53:01Z', '2026-11-19T12:30:00+01:00', '2026-11-19', '2026-11-19T12:53:02'];
    await index.put(...packed.map((published) => ({ id: published, published, year: 2026 })));
    const newestFirst = [packed[3]!, packed[0]!, packed[1]!, packed[2]!, 'fjord', 'forest', 'undated'];
    assert.deepEqual(await index.find(''), newestFirst);
    assert.deepEqual(await index.find('  '), newestFirst);
    const equal = Array.from({ length: 40 }, (_, at) => ({ id: `equal${at}`, published: '2025-01-01' }));
    for (const crate of equal) await index.put(crate);
    const all = await index.find('');
    assert.deepEqual(await index.find(''), all);
    assert.deepEqual(all.slice(0, 4), newestFirst.slice(0, 4));
    recordProof('B3:empty-query-lists-newest-first');
  });

  test('facets count what was found', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest);
    const { facets } = await index.search('climate');
    assert.deepEqual(facets['type'], [
      { value: 'Dataset', count: 2 },
      { value: 'Thing', count: 1 },
    ]);
    assert.deepEqual(facets['year'], [
      { value: '2019', count: 1 },
      { value: '2021', count: 1 },
    ]);
    assert.deepEqual((await index.search('fjord')).facets['kind'], [{ value: 'zip', count: 1 }]);
    assert.deepEqual((await index.search('fjord', { facets: false })).facets, {});
  });

  test('the fields, the values that can be filtered by, and the types with their properties', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest, { id: 'secret', owner: 'bob', entities: [entity('#x', 'Spaceship', {})] });
    const { fields, filters, entities } = await index.reader.fields('ann');
    assert.ok(fields.some(({ name, weight }) => name === 'title' && weight > 1));
    assert.deepEqual(filters.find(({ name }) => name === 'year')?.values.length, 2);
    assert.deepEqual(entities, [
      { type: 'Dataset', crates: 2, properties: ['@id', 'name'] },
      { type: 'Thing', crates: 1, properties: ['@id', 'name'] },
    ]);
  });
}

function ownerContract(backend: Backend): void {
  test('what belongs to another is in no result, count, facet, score or status', async (t) => {
    const index = await newIndex(t, backend);
    const mine = { ...forest, id: 'mine', owner: 'ann' };
    await index.put(fjord, mine);
    const before = await index.search('climate water');
    const secret = { ...fjord, id: 'secret', owner: 'bob', title: 'Climate secret', keywords: ['hidden'] };
    await index.put(secret, { ...secret, id: 'secret2' });
    const [broken] = [madeUp({ id: 'broken', owner: 'bob' })];
    await index.rows.putBroken([{ place: broken!.place, code: 'not_a_zip', reason: 'No zip.' }]);
    assert.deepEqual(await index.search('climate water'), before);
    assert.deepEqual(await index.find('secr* hidden'), []);
    assert.deepEqual((await index.find('climate', { viewer: 'bob' })).toSorted(), [
      'fjord',
      'secret',
      'secret2',
    ]);
    assert.equal(await index.reader.get('ann', crateIdOf('secret')), null);
    assert.notEqual(await index.reader.get('bob', crateIdOf('secret')), null);
    const status = await index.reader.status('ann', { limit: 10, offset: 0 });
    assert.deepEqual([status.crates, status.broken, status.broken_crates], [2, 0, []]);
  });
}

function keepingContract(backend: Backend): void {
  test('a crate that is put again replaces what was there, and one that is removed is gone', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, forest);
    await index.put({ ...fjord, title: 'Glaciers', description: '', entities: [] });
    assert.deepEqual(await index.find('glaciers'), ['fjord']);
    assert.deepEqual(await index.find('temperatures'), []);
    await index.rows.remove([crateIdOf('fjord'), crateIdOf('never')]);
    assert.deepEqual(await index.find(''), ['forest']);
    assert.equal(await index.reader.get('ann', crateIdOf('fjord')), null);
  });

  test('what is known of a source is told, the broken ones too, and a source can be removed', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord, { ...forest, source: 's3://other/' });
    const broken = madeUp({ id: 'broken' }).place;
    await index.rows.putBroken([{ place: broken, code: 'zip_truncated', reason: 'It ends early.' }]);
    const known = (await Array.fromAsync(index.rows.known('file:///made-up/'))).flat();
    assert.deepEqual(known.map(({ object, stamp, state }) => `${object} ${stamp} ${state}`).toSorted(), [
      'broken.zip one broken',
      'fjord.zip one ok',
    ]);
    await assert.rejects(index.reader.get('ann', broken.crateId), {
      code: 'zip_truncated',
      message: 'It ends early.',
    });
    await index.rows.removeSource('file:///made-up/');
    assert.deepEqual(await index.rows.sources(), [{ source: 's3://other/', readAt: null }]);
    assert.deepEqual(await index.find(''), ['forest']);
  });

  test('the status tells sources, counts and what cannot be read', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(fjord);
    await index.rows.noteSource('file:///made-up/', 'syncing', null);
    const statusNow = () => index.reader.status('ann', { limit: 10, offset: 0 });
    const cutOff = await statusNow();
    assert.deepEqual([cutOff.syncing, cutOff.sources[0]!.state], [false, 'interrupted']);
    const hour = Date.now() + 3_600_000;
    await index.database.query(
      "INSERT INTO crate_leases (name, holder, until) VALUES ('sync', 'x', ?)",
      hour,
    );
    const underWay = await statusNow();
    assert.deepEqual([underWay.syncing, underWay.sources[0]!.state], [true, 'syncing']);
    await index.database.query('DELETE FROM crate_leases');
    await index.rows.noteSource('file:///made-up/', 'unreachable', 'No such folder.');
    const place = madeUp({ id: 'broken' }).place;
    await index.rows.putBroken([{ place, code: 'not_a_zip', reason: 'It is no\0zip.' }]);
    const status = await index.reader.status('ann', { limit: 10, offset: 0 });
    assert.deepEqual(status.sources, [
      {
        source: 'file:///made-up/',
        state: 'unreachable',
        reason: 'No such folder.',
        synced_at: '2023-11-14T22:13:20.000Z',
        crates: 1,
        broken: 1,
      },
    ]);
    assert.deepEqual(status.broken_crates, [
      {
        crate_id: place.crateId,
        resource_locator: place.locator,
        code: 'not_a_zip',
        reason: 'It is no\ufffdzip.',
      },
    ]);
    recordProof('B10:status-of-the-index');
  });

  test('a crate is given back as it was put', async (t) => {
    const index = await newIndex(t, backend);
    const crate = madeUp(fjord);
    await index.rows.put([crate]);
    assert.deepEqual(await index.reader.get('ann', crate.place.crateId), {
      place: crate.place,
      root: '',
      summary: '{"title":"Climate of the fjords"}',
    });
    assert.equal(await index.reader.get('ann', crateIdOf('other')), null);
  });

  test('a crate without a single word or entity is in the index all the same', async (t) => {
    const index = await newIndex(t, backend);
    await index.put({ id: '…', title: '???', entities: [] });
    assert.equal((await index.search('')).total, 1);
    assert.equal((await index.search('word')).total, 0);
    assert.deepEqual((await index.reader.fields('ann')).entities, []);
    const request = { type: '*', path: 'name', value: 'abc', entry: null, limit: 10, offset: 0 };
    for (const exact of [true, false])
      assert.equal((await index.reader.byEntity('ann', { ...request, exact })).total, 0);
  });

  test('a batch is put whole or not at all', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(forest);
    const bad = madeUp({ id: 'bad' });
    const batch = [madeUp(fjord), { ...bad, place: { ...bad.place, size: Number.NaN } }];
    await assert.rejects(index.rows.put(batch), { code: 'database_failed' });
    assert.deepEqual(await index.find(''), ['forest']);
    await index.rows.put([madeUp(fjord)]);
    assert.deepEqual((await index.find('climate')).toSorted(), ['fjord', 'forest']);
  });
}
