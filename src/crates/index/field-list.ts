import type { BlockCache } from './block-cache.ts';
import { countFacets, topOf, type ValueCount } from './facet-counts.ts';
import { facets } from '../query/facets.ts';
import { afterPrefix, fromKey, kinds } from './keys.ts';
import { scan } from './lookup.ts';
import { newest } from './scoring.ts';
import { nothingBarred } from './barring.ts';
import type { Pace } from './pace.ts';
import { eachPosting, type Postings } from './postings.ts';
import { textFields } from '../query/text-fields.ts';
import type { Visible, VisibleSegment } from './visible.ts';

export interface FieldList {
  readonly fields: { name: string; weight: number; description: string }[];
  readonly filters: { name: string; description: string; values: ValueCount[] }[];
  /** Types of entities with the properties that they have, by how many crates have them. */
  readonly entities: { type: string; crates: number; properties: string[] }[];
}

const mostValues = 50;
const mostTypes = 200;
const mostProperties = 50;

export async function listFields(cache: BlockCache, visible: Visible, pace: Pace): Promise<FieldList> {
  const { chosen } = await newest(visible, nothingBarred(visible), 0, pace);
  const values = await countFacets(visible, chosen, mostValues, pace);
  return {
    fields: textFields.map(({ name, weight, description }) => ({ name, weight, description })),
    filters: facets.map(({ name, description }) => ({ name, description, values: values[name]! })),
    entities: await entityTypes(cache, visible, pace),
  };
}

async function entityTypes(cache: BlockCache, visible: Visible, pace: Pace): Promise<FieldList['entities']> {
  const byType = new Map<string, Map<string, number>>();
  for (const segment of visible.segments)
    for await (const entries of scan(cache, segment.of, kinds.property, afterPrefix(kinds.property))) {
      await pace.breathe();
      for (const { key, postings } of entries) {
        const [type, property] = key.slice(1).split('\0');
        const count = seenIn(segment, postings);
        const properties = byType.get(type!) ?? new Map<string, number>();
        if (count > 0) byType.set(type!, properties.set(property!, (properties.get(property!) ?? 0) + count));
      }
    }
  // Every entity has an id, hence that counts the crates with the type.
  const types = new Map(Array.from(byType, ([type, properties]) => [type, properties.get('@id') ?? 0]));
  types.delete('');
  return topOf(types, mostTypes).map(({ value, count }) => ({
    type: fromKey(value),
    crates: count,
    properties: topOf(byType.get(value)!, mostProperties).map((property) => fromKey(property.value)),
  }));
}

function seenIn({ hidden }: VisibleSegment, postings: Postings): number {
  if (hidden === null) return postings.count;
  let seen = 0;
  eachPosting(postings, false, (document) => (seen += 1 - hidden[document]!));
  return seen;
}
