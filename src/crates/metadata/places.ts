import { tooLarge, type JsonObject, type Limits, type Terms } from './document.ts';
import type { Issues, Node, Value } from './graph.ts';
import { idFrom, isAbsolute, judgeId, keyOf, otherSpellings } from './ids.ts';

/** A reference to what was not known when it was met. Until it is, its id stands as text. */
interface Waiting {
  readonly from: number;
  readonly at: number;
  readonly id: string;
}

/** A property that is being read. */
export interface Slot {
  /** The place of the entity that has it. */
  readonly from: number;
  readonly name: string;
  /** Whether its plain texts are ids. */
  readonly isReference: boolean;
}

/** What the walk goes on with. */
export interface Walk {
  readonly terms: Terms;
  readonly issues: Issues;
  readonly nodes: Node[];
  readonly places: Map<string, number>;
  readonly waiting: Waiting[];
  readonly most: WalkLimits;
  /** How many there are of all entities. */
  properties: number;
}

export type WalkLimits = Pick<Limits, 'entities' | 'properties'>;

/** The place of an entity, a new one unless its id has one. */
export function open(walk: Walk, object: JsonObject): number {
  const { nodes, places, issues } = walk;
  const id = idFrom(walk.terms.valueOf(object, '@id'), issues);
  const key = id === null ? null : keyOf(id, walk.terms.base);
  const known = key === null ? undefined : places.get(key);
  if (known !== undefined) return known;
  if (nodes.length >= walk.most.entities)
    throw tooLarge(`describes more than ${walk.most.entities} entities, the most that can be read`);
  if (key !== null) places.set(key, nodes.length);
  if (id !== null) judgeId(id, issues);
  return nodes.push({ id, types: [], properties: [] }) - 1;
}

/** Gives an entity a property. */
export function put(walk: Walk, from: number, value: Value): void {
  if (++walk.properties > walk.most.properties)
    throw tooLarge(`gives more than ${walk.most.properties} properties, the most that can be read`);
  walk.nodes[from]!.properties.push(value);
}

/** A property that leads to another entity. */
export function refer(walk: Walk, { from, name }: Slot, given: string): void {
  const target = walk.places.get(keyOf(given, walk.terms.base));
  if (target !== undefined && given !== '') return put(walk, from, { name, target });
  const id = idFrom(given, walk.issues);
  if (id === null) return;
  walk.waiting.push({ from, at: walk.nodes[from]!.properties.length, id });
  put(walk, from, { name, text: id });
}

/** The references that waited, now that all is known. */
export function settle(walk: Walk): void {
  const spellings = otherSpellings(walk.places);
  for (const { from, at, id } of walk.waiting) {
    const key = keyOf(id, walk.terms.base);
    const exact = walk.places.get(key);
    const target = exact ?? spellings.find(key);
    if (target === null) {
      if (!isAbsolute(id)) walk.issues.add('reference_to_nothing', id);
      continue;
    }
    if (exact === undefined) walk.issues.add('reference_respelt', id);
    const { properties } = walk.nodes[from]!;
    properties[at] = { name: properties[at]!.name, target };
  }
}

/** Ids for those that have none, which are nobody else's; and what has no type is told. */
export function nameNameless({ nodes, places, issues }: Walk): void {
  let number = 0;
  for (const node of nodes) {
    if (node.types.length === 0) issues.add('type_missing', node.id ?? '');
    if (node.id !== null) continue;
    do number++;
    while (places.has(`_:unnamed-${number}`));
    node.id = `_:unnamed-${number}`;
    issues.add('id_missing');
  }
}
