import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { blockFor, entriesOf } from './blocks.ts';
import type { BlockCache } from './block-cache.ts';
import { propertyPrefix, typePrefix } from './entity-key.ts';
import { afterPrefix } from './keys.ts';
import type { Segment } from './view.ts';

const known = new WeakMap<Segment['columns'], BoundedMap<string, readonly string[]>>();
const mostKnown = 1000;
/** Types of entities are few; where they are not, somebody writes what is no type. */
const mostTypes = 1000;

/** The types, as they stand in keys, of the entities of a segment that have a property. */
export async function typesWith(
  cache: BlockCache,
  segment: Segment,
  property: string,
): Promise<readonly string[]> {
  const byProperty =
    known.get(segment.columns) ??
    new BoundedMap<string, readonly string[]>({ mostEntries: mostKnown, whenFull: 'clear' });
  known.set(segment.columns, byProperty);
  const before = byProperty.get(property);
  if (before !== undefined) return before;
  const types = await findTypes(cache, segment, property);
  byProperty.set(property, types);
  return types;
}

/** From each type on to the first key of another. */
async function findTypes(cache: BlockCache, segment: Segment, property: string): Promise<string[]> {
  const prefix = propertyPrefix(property);
  const end = afterPrefix(prefix);
  const types: string[] = [];
  for (
    let key = await firstFrom(cache, segment, prefix);
    key !== null && key < end && types.length < mostTypes;
  ) {
    const type = key.slice(prefix.length, key.indexOf('\0', prefix.length));
    types.push(type);
    key = await firstFrom(cache, segment, afterPrefix(typePrefix(property, type)));
  }
  return types;
}

async function firstFrom(
  cache: BlockCache,
  { segment, fences }: Segment,
  from: string,
): Promise<string | null> {
  const block = blockFor(fences, from);
  const [bytes] = block < 0 ? [] : await cache.blocks(segment, [block]);
  if (bytes !== undefined) for (const { key } of entriesOf(bytes)) if (key >= from) return key;
  return fences[block + 1] ?? null;
}
