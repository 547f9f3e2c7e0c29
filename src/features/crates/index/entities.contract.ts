import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import { entity, type MadeUp } from './crate.testing.ts';
import { namesOf, newIndex, type TestIndex } from './index.testing.ts';
import type { EntityRequest } from './reading.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const long = `${'Ä long text. '.repeat(80)}end`;

const oslo: MadeUp = {
  id: 'oslo',
  title: 'From Oslo',
  entities: [
    entity('./', 'Dataset', { author: [1, 2], license: 4, note: long }),
    entity('https://orcid.org/0000-0001', 'Person', { name: 'Jane Döe', affiliation: 3 }),
    entity('#john', ['Person', 'Agent'], { name: 'John Roe' }),
    entity('#uio', 'Organization', { name: 'University of Oslo' }),
    entity('https://spdx.org/licenses/MIT', 'CreativeWork', { name: 'MIT' }),
  ],
};
const bergen: MadeUp = {
  id: 'bergen',
  title: 'From Bergen',
  entities: [
    entity('./', 'Dataset', { author: 1 }),
    entity('#ola', 'Person', { name: 'jane döe', affiliation: 2 }),
    entity('#uib', 'Organization', { name: 'University of Bergen', partOf: 3 }),
    entity('#uio', 'Organization', { name: 'University of Oslo' }),
  ],
};

async function findBy(
  index: TestIndex,
  [type, path, value]: string[],
  options: Partial<EntityRequest> & { viewer?: string } = {},
) {
  const { viewer = 'ann', ...rest } = options;
  const request = {
    type: type!,
    path: path!,
    value: value!,
    entry: null,
    exact: true,
    limit: 50,
    offset: 0,
    ...rest,
  };
  const page = await index.reader.byEntity(viewer, request);
  return namesOf(page).toSorted();
}

export function entityContract(backend: Backend): void {
  test('an entity is found by type, property and the whole value, as it is written', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(oslo, bergen);
    assert.deepEqual(await findBy(index, ['Person', 'name', 'Jane Döe']), ['oslo']);
    assert.deepEqual(
      await findBy(index, ['Person', 'name', ' Jane Do\u0308e ']),
      ['oslo'],
      'one form for what looks the same',
    );
    assert.deepEqual(await findBy(index, ['Person', 'name', 'Jane']), []);
    assert.deepEqual(await findBy(index, ['Organization', 'name', 'Jane Döe']), []);
    assert.deepEqual(await findBy(index, ['agent', 'name', 'John Roe']), ['oslo'], 'every type, in any case');
    assert.deepEqual(await findBy(index, ['*', 'name', 'MIT']), ['oslo']);
    assert.deepEqual(await findBy(index, ['Dataset', 'note', long]), ['oslo']);
    assert.deepEqual(await findBy(index, ['Dataset', 'note', `${long}.`]), []);
    assert.deepEqual(await findBy(index, ['Person', '@id', '#john']), ['oslo']);
    recordProof('B9:by-type-property-and-value');
  });

  test('a path follows references from entity to entity', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(oslo);
    await index.put(bergen);
    const path = 'author.affiliation.name';
    assert.deepEqual(await findBy(index, ['Dataset', path, 'University of Oslo']), ['oslo']);
    assert.deepEqual(await findBy(index, ['Dataset', path, 'University of'], { exact: false }), [
      'bergen',
      'oslo',
    ]);
    assert.deepEqual(await findBy(index, ['Person', path, 'University of Oslo']), []);
    assert.deepEqual(await findBy(index, ['Person', 'affiliation.partOf.name', 'University of Oslo']), [
      'bergen',
    ]);
    assert.deepEqual(
      await findBy(index, ['Dataset', 'license', 'https://spdx.org/licenses/MIT']),
      ['oslo'],
      'by the id',
    );
    assert.deepEqual(await findBy(index, ['Dataset', 'author.@id', '#ola']), ['bergen']);
    await assert.rejects(findBy(index, ['Dataset', 'author..name', 'x']), { code: 'invalid_input' });
    recordProof('B9:path-walks-references');
  });

  test('a part of a value is found in any case, with accents or without', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(oslo, bergen);
    const part = { exact: false };
    assert.deepEqual(await findBy(index, ['Person', 'name', 'NE DOE'], part), ['bergen', 'oslo']);
    assert.deepEqual(
      await findBy(index, ['Person', 'name', 'ö'], part),
      ['bergen', 'oslo'],
      'shorter than three',
    );
    assert.deepEqual(await findBy(index, ['Dataset', 'note', 'long TEXT'], part), ['oslo']);
    assert.deepEqual(await findBy(index, ['Person', 'name', 'nothing'], part), []);
    assert.deepEqual(await index.find('Person.affiliation.name:bergen'), ['bergen']);
    assert.deepEqual(await index.find('-Person.affiliation.name:bergen'), ['oslo']);
  });

  test('the crate has to fit too where that is asked for, and others do not see what is owned', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(oslo, bergen, { ...oslo, id: 'hidden', owner: 'bob' });
    const by = ['Person', 'name', 'doe'];
    const fitting = (field: string, value: string) => ({ exact: false, entry: { field, value } });
    assert.deepEqual(await findBy(index, by, fitting('title', 'bergen')), ['bergen']);
    assert.deepEqual(await findBy(index, by, fitting('type', 'Agent')), ['oslo']);
    assert.deepEqual(await findBy(index, by, { exact: false, viewer: 'bob' }), ['bergen', 'hidden', 'oslo']);
    assert.deepEqual(await findBy(index, ['Dataset', 'author.name', 'John Roe'], { viewer: 'bob' }), [
      'hidden',
      'oslo',
    ]);
    await assert.rejects(findBy(index, by, fitting('colour', 'red')), { code: 'invalid_input' });
    recordProof('B9:entry-field-and-value');
  });

  test('paging is stable, by value and by path', async (t) => {
    const index = await newIndex(t, backend);
    await index.put(...Array.from({ length: 25 }, (_, at) => ({ ...oslo, id: `n${at}` })));
    for (const [type, path, value] of [
      ['Person', 'name', 'John Roe'],
      ['Dataset', 'author.name', 'John Roe'],
    ] as const) {
      const request = { type, path, value, entry: null, exact: true };
      const all: string[] = [];
      for (let offset: number | null = 0; offset !== null;) {
        const page = await index.reader.byEntity('ann', { ...request, limit: 10, offset });
        assert.equal(page.total, 25);
        all.push(...namesOf(page));
        offset = page.next;
      }
      assert.deepEqual(
        all,
        namesOf(await index.reader.byEntity('ann', { ...request, limit: 50, offset: 0 })),
      );
      assert.equal(new Set(all).size, 25);
    }
    recordProof('B9:paging-is-stable');
  });
}
