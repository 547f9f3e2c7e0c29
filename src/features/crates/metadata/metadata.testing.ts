import type { CrateMetadata, Entity } from '../crate.ts';
import { readMetadata } from './metadata.ts';

export const descriptor = {
  '@id': 'ro-crate-metadata.json',
  '@type': 'CreativeWork',
  about: { '@id': './' },
  conformsTo: { '@id': 'https://w3id.org/ro/crate/1.2' },
};

export const root = {
  '@id': './',
  '@type': 'Dataset',
  name: 'Lakes',
  description: 'Depths of lakes',
  datePublished: '2023-05-01',
  license: { '@id': 'https://spdx.org/licenses/CC-BY-4.0' },
};

export function bytesOf(document: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(document));
}

export function readGraph(
  graph: unknown,
  context: unknown = 'https://w3id.org/ro/crate/1.2/context',
): CrateMetadata {
  return readMetadata(bytesOf({ '@context': context, '@graph': graph }));
}

/** A crate that has nothing odd but what is given here. */
export function readRootWith(properties: object, ...others: unknown[]): CrateMetadata {
  return readGraph([descriptor, { ...root, ...properties }, ...others]);
}

/** Issues with their counts. */
export function issuesOf({ issues }: CrateMetadata): Record<string, number> {
  return Object.fromEntries(issues.map(({ code, count }) => [code, count]));
}

export function entityOf({ entities }: CrateMetadata, id: string): Entity {
  const found = entities.find((entity) => entity.id === id);
  if (found === undefined)
    throw new Error(`No entity ${id} among ${entities.map(({ id }) => id).join(', ')}`);
  return found;
}

/** The values of a property: texts, and ids of entities in angle brackets. */
export function valuesOf(crate: CrateMetadata, id: string, name: string): string[] {
  return entityOf(crate, id)
    .properties.filter((property) => property.name === name)
    .map((property) => ('text' in property ? property.text : `<${crate.entities[property.target]!.id}>`));
}
