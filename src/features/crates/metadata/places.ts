import {
  metadataTooLargeError,
  type JsonObject,
  type MetadataLimits,
  type ContextTerms,
} from './document.ts';
import type { MetadataIssues, GraphNode, NodeProperty } from './graph.ts';
import { readEntityId, isAbsoluteIri, checkEntityId, toEntityKey, createEntitySpellings } from './ids.ts';

/** A reference to an entity that was not known yet when it was read. Until it is, the property is the id as text. */
interface PendingReference {
  readonly from: number;
  readonly at: number;
  readonly id: string;
}

/** A property that is being read. */
export interface PropertySlot {
  /** The index of the entity that has it. */
  readonly from: number;
  readonly name: string;
  /** Whether its plain texts are ids. */
  readonly isReference: boolean;
}

/** The state of the walk through a document. */
export interface MetadataWalk {
  readonly terms: ContextTerms;
  readonly issues: MetadataIssues;
  readonly nodes: GraphNode[];
  readonly places: Map<string, number>;
  readonly waiting: PendingReference[];
  readonly most: MetadataWalkLimits;
  /** How many properties all entities have so far. */
  properties: number;
}

export type MetadataWalkLimits = Pick<MetadataLimits, 'entities' | 'properties'>;

/** The index of the entity with this id; a new one if there is none. */
export function findOrAddNode(walk: MetadataWalk, object: JsonObject): number {
  const { nodes, places, issues } = walk;
  const id = readEntityId(walk.terms.valueOf(object, '@id'), issues);
  const key = id === null ? null : toEntityKey(id, walk.terms.base);
  const known = key === null ? undefined : places.get(key);
  if (known !== undefined) return known;
  if (nodes.length >= walk.most.entities)
    throw metadataTooLargeError(
      `describes more than ${walk.most.entities} entities, the most that can be read`,
    );
  if (key !== null) places.set(key, nodes.length);
  if (id !== null) checkEntityId(id, issues);
  return nodes.push({ id, types: [], properties: [] }) - 1;
}

export function addProperty(walk: MetadataWalk, from: number, value: NodeProperty): void {
  if (++walk.properties > walk.most.properties)
    throw metadataTooLargeError(
      `has more than ${walk.most.properties} properties, the most that can be read`,
    );
  walk.nodes[from]!.properties.push(value);
}

/** Adds a property that refers to another entity. */
export function addReference(walk: MetadataWalk, { from, name }: PropertySlot, given: string): void {
  const target = walk.places.get(toEntityKey(given, walk.terms.base));
  if (target !== undefined && given !== '') return addProperty(walk, from, { name, target });
  const id = readEntityId(given, walk.issues);
  if (id === null) return;
  walk.waiting.push({ from, at: walk.nodes[from]!.properties.length, id });
  addProperty(walk, from, { name, text: id });
}

/** Resolves the pending references, once all entities are known. */
export function resolvePendingReferences(walk: MetadataWalk): void {
  const spellings = createEntitySpellings(walk.places);
  for (const { from, at, id } of walk.waiting) {
    const key = toEntityKey(id, walk.terms.base);
    const exact = walk.places.get(key);
    const target = exact ?? spellings.find(key);
    if (target === null) {
      if (!isAbsoluteIri(id)) walk.issues.add('reference_to_nothing', id);
      continue;
    }
    if (exact === undefined) walk.issues.add('reference_respelt', id);
    const { properties } = walk.nodes[from]!;
    properties[at] = { name: properties[at]!.name, target };
  }
}

/** Gives unique ids to entities without one, and adds an issue for each entity without a type. */
export function assignMissingIds({ nodes, places, issues }: MetadataWalk): void {
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
