import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CrateMetadata } from '../crate.ts';
import { readMetadata } from './metadata.ts';
import { descriptor, readGraph, root } from './metadata.testing.ts';
import { demandConsistent } from './consistent.testing.ts';

const folder = join(import.meta.dirname, '../../../../fixtures/crates/metadata');
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
const crates = new Map<string, CrateMetadata>();

test('every crate of the corpus is read, with its issues listed', () => {
  assert.equal(names.length, 99);
  const counts: Record<string, number> = {};
  for (const name of names) {
    const crate = readMetadata(readFileSync(join(folder, name)));
    demandConsistent(crate);
    crates.set(name, crate);
    for (const { code } of crate.issues) counts[code] = (counts[code] ?? 0) + 1;
  }
  assert.deepEqual(counts, {
    author_without_name: 1,
    date_not_iso: 2,
    date_not_readable: 3,
    descriptor_without_version: 4,
    id_absolute_path: 2,
    id_missing: 1,
    id_outside: 2,
    id_with_space: 2,
    legacy_descriptor: 8,
    nested_entity: 1,
    nested_list: 1,
    reference_to_nothing: 4,
    root_id_odd: 1,
    root_without_date: 25,
    root_without_description: 36,
    root_without_license: 18,
    root_without_name: 30,
    type_missing: 2,
  });
});

test('what some crates of the corpus say is found', () => {
  const told = (name: string): unknown[] => {
    const { title, authors, published, spec, profiles, entities } = crates.get(name)!;
    return [title, authors.length, published, spec, profiles.length, entities.length];
  };
  assert.deepEqual(told('026-ro-crate.json'), [
    'RetroPath2.0 IBISBA workflow node',
    2,
    '2019-02-14',
    '0.2-DRAFT',
    0,
    21,
  ]);
  assert.deepEqual(told('028-workflow-run-crate.json'), [
    'BackTrackBB',
    3,
    '2023-01-17T16:06:26+00:00',
    '1.1',
    3,
    626,
  ]);
  assert.deepEqual(told('009-ro-crate-py.json').slice(2, 4), ['2020-06-25T17:03:04.098286', '1.2']);
  assert.equal(crates.get('016-ro-crate.json')!.rootId, 'https://w3id.org/ro/crate/1.2-DRAFT');
});

test('a crate of 100,000 entities is read', () => {
  const files = Array.from({ length: 99_998 }, (_, at) => ({
    '@id': `data/${at}`,
    '@type': 'File',
    isPartOf: { '@id': './' },
  }));
  const hasPart = files.map((file) => ({ '@id': file['@id'] }));
  const crate = readGraph([descriptor, ...files, { ...root, hasPart }]);
  assert.deepEqual([crate.title, crate.entities.length, crate.issues], ['Lakes', 99_999, []]);
  assert.equal(crate.entities.at(-1)!.properties.length, 4 + hasPart.length);
});
