import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CrateLocation, ReadCrate } from '../crate.ts';
import { readRootWith } from './metadata.testing.ts';
import { crateSummarySchema, summarizeCrate } from './summary.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const place: CrateLocation = {
  crateId: 'crate_0123456789abcdef01234567',
  source: 'file:///data/crates/',
  kind: 'zip',
  object: 'lakes.zip',
  locator: 'file:///data/crates/lakes.zip',
  owner: null,
  stamp: 's',
  size: 1234,
  modified: Date.UTC(2024, 0, 2),
};
const indexedAt = Date.UTC(2024, 0, 3);

function crateWith(properties: object, ...others: unknown[]): ReadCrate {
  const metadata = readRootWith(properties, ...others);
  return { place, root: '', metadata, files: ['a'], fileCount: 1, bytes: null };
}

test('a crate is shown in one shape, with ISO dates and all of it JSON', () => {
  const flow = { '@id': 'a', '@type': ['File', 'ComputationalWorkflow'], name: 'Flow' };
  const shown = summarizeCrate(
    crateWith({ mainEntity: { '@id': 'a' }, keywords: 'lake', datePublished: '11/27/2023' }, flow),
    indexedAt,
  );
  assert.deepEqual(shown, {
    crate_id: 'crate_0123456789abcdef01234567',
    title: 'Lakes',
    description: 'Depths of lakes',
    authors: [],
    keywords: ['lake'],
    license: { id: 'https://spdx.org/licenses/CC-BY-4.0', name: 'CC-BY-4.0' },
    date_published: '2023-11-27',
    year: 2023,
    identifiers: [],
    spec_version: '1.2',
    profiles: [],
    kind: 'zip',
    source: 'file:///data/crates/',
    resource_locator: 'file:///data/crates/lakes.zip',
    size: 1234,
    last_modified: '2024-01-02T00:00:00.000Z',
    entity_count: 2,
    file_count: 1,
    bytes: null,
    types: [
      { type: 'ComputationalWorkflow', count: 1 },
      { type: 'Dataset', count: 1 },
      { type: 'File', count: 1 },
    ],
    main_entity: { id: 'a', name: 'Flow', types: ['File', 'ComputationalWorkflow'] },
    issues: [
      {
        code: 'date_not_iso',
        message:
          'The datePublished is not in ISO 8601 format. It was read as far as it is unambiguous. For example: 11/27/2023',
        count: 1,
      },
    ],
    root_id: './',
    indexed_at: '2024-01-03T00:00:00.000Z',
  });
  assert.deepEqual(crateSummarySchema.strict().parse(JSON.parse(JSON.stringify(shown))), shown);
  recordProof('B5:stable-shape', 'B5:iso-dates-and-json');
});

test('types are shown by how many there are, at most 200; what is not known is null', () => {
  const entities = Array.from({ length: 300 }, (_, at) => ({
    '@id': `#${at}`,
    '@type': ['Common', `T${at}`],
  }));
  const crate = crateWith({ license: null, datePublished: null }, ...entities);
  const shown = summarizeCrate({ ...crate, place: { ...place, modified: Number.NaN } }, indexedAt);
  assert.deepEqual([shown.types.length, shown.types[0]], [200, { type: 'Common', count: 300 }]);
  assert.deepEqual(
    [shown.license, shown.date_published, shown.year, shown.last_modified, shown.main_entity],
    [null, null, null, null, null],
  );
  assert.doesNotThrow(() => crateSummarySchema.strict().parse(shown));
});

test('what a crate has too much of is shown in part, with how much there is, and the answer stays small', () => {
  const many = (word: string): string[] => Array.from({ length: 9000 }, (_, at) => `${word} ${at}`);
  const properties = {
    author: many('Ada'),
    keywords: many('lake'),
    identifier: many('doi'),
    conformsTo: many('https://example.org/'),
    description: Array.from({ length: 50 }, () => 'deep '.repeat(10_000)),
    license: 'free '.repeat(10_000),
    mainEntity: { '@id': '#m' },
  };
  const main = { '@id': '#m', '@type': 'T', name: 'long '.repeat(10_000) };
  const crate = crateWith(properties, main);
  const shown = summarizeCrate(crate, indexedAt);
  assert.equal(crate.metadata.authors.length, 9000);
  const { authors, keywords, identifiers, profiles } = shown;
  assert.deepEqual(
    [authors, keywords, identifiers, profiles].map(({ length }) => length),
    [500, 500, 500, 500],
  );
  assert.deepEqual([shown.description.length, crate.metadata.description.length], [20_000, 100_000]);
  const told = Object.fromEntries(shown.issues.map(({ code, count }) => [code, count]));
  assert.equal(told['authors_shortened'], 9000);
  for (const name of ['keywords', 'identifiers', 'profiles', 'description'])
    assert.ok(told[`${name}_shortened`]);
  assert.ok(JSON.stringify(shown).length < 100_000);
  assert.doesNotThrow(() => crateSummarySchema.strict().parse(shown));
});

test('sizes that no number can hold are not known', () => {
  const crate = crateWith({});
  const size = Number.MAX_SAFE_INTEGER;
  assert.equal(summarizeCrate({ ...crate, bytes: size }, indexedAt).bytes, size);
  for (const bytes of [size + size, Infinity, Number.NaN, 0.5]) {
    const shown = summarizeCrate({ ...crate, bytes, place: { ...place, size: bytes } }, indexedAt);
    assert.deepEqual([shown.bytes, shown.size], [null, null]);
    assert.doesNotThrow(() => crateSummarySchema.strict().parse(shown));
  }
});
