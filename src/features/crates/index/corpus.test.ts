import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { readMetadata } from '../metadata/metadata.ts';
import { madeUp } from './crate.testing.ts';
import { newIndex } from './index.testing.ts';
import type { SummedUp } from './rows.ts';

const folder = join(import.meta.dirname, '../../../../fixtures/crates/metadata');

async function read(name: string): Promise<SummedUp[]> {
  try {
    const metadata = readMetadata(await readFile(join(folder, name)));
    return [{ ...madeUp({ id: name }), metadata, files: [] }];
  } catch (error) {
    if (isWorkcrateError(error, 'metadata_invalid')) return [];
    throw error;
  }
}

test('every real crate of the corpus is found by its title, its entities and their values', async (t) => {
  const { rows, reader } = await newIndex(t, { name: 'SQLite', newLocation: async () => ':memory:' });
  const crates = (await Promise.all((await readdir(folder)).map(read))).flat();
  assert.ok(crates.length > 80);
  for (let at = 0; at < crates.length; at += 9) await rows.put(crates.slice(at, at + 9));
  for (const { place, metadata } of crates) {
    const title = `title:"${metadata.title.replaceAll('"', ' ')}"`;
    const found = await reader.search('ann', {
      query: title,
      mode: 'keyword',
      filters: [],
      limit: 100,
      offset: 0,
    });
    assert.ok(
      found.results.some(({ crateId }) => crateId === place.crateId),
      metadata.title,
    );
    const entity = metadata.entities.find(
      ({ types, properties }) => types.length > 0 && properties.some((each) => 'text' in each),
    );
    const property = entity?.properties.find(
      (each) => 'text' in each && each.text.trim() !== '' && !each.name.includes('.'),
    );
    if (entity === undefined || property === undefined || !('text' in property)) continue;
    const request = {
      type: entity.types[0]!,
      path: property.name,
      value: property.text,
      entry: null,
      exact: true,
    };
    const page = await reader.byEntity('ann', { ...request, limit: 100, offset: 0 });
    assert.ok(
      page.results.some(({ crateId }) => crateId === place.crateId),
      `${property.name} ${property.text}`,
    );
  }
});
