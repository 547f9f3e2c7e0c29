import { isJsonObject, defaultMetadataLimits, type JsonObject, type ContextTerms } from './document.ts';
import {
  replaceUnstorableCharacters,
  truncateMetadataText,
  isStorableText,
  type MetadataGraph,
  type MetadataIssues,
  type GraphNode,
} from './graph.ts';
import { readEntityId, toEntityKey } from './ids.ts';
import {
  assignMissingIds,
  findOrAddNode,
  addProperty,
  addReference,
  resolvePendingReferences,
  type PropertySlot,
  type MetadataWalk,
  type MetadataWalkLimits,
} from './places.ts';

const maxMetadataDepth = 64;
const maxPropertyTextLength = 100_000;
const maxTypesPerEntity = 100;

/**
 * Flattens all entities into one list, however deeply they are nested. Each value is visited once: top-level entities get
 * their indexes first, so that nearly every reference is known when it is read. It empties the list that it is given.
 */
export function buildMetadataGraph(
  tops: unknown[],
  terms: ContextTerms,
  issues: MetadataIssues,
  most: MetadataWalkLimits = defaultMetadataLimits,
): MetadataGraph {
  const walk: MetadataWalk = {
    terms,
    issues,
    nodes: [],
    places: new Map(),
    waiting: [],
    most,
    properties: 0,
  };
  const places = tops.map((top) => addTopLevelNode(walk, top));
  for (const [at, place] of places.entries()) {
    if (place !== null) readNodeProperties(walk, place, tops[at] as JsonObject, 0);
    // Frees what was read, so that the document and the graph are never both in memory as a whole.
    tops[at] = null;
  }
  resolvePendingReferences(walk);
  assignMissingIds(walk);
  return {
    nodes: walk.nodes,
    find: (id) => (id === '' ? null : (walk.places.get(toEntityKey(id, terms.base)) ?? null)),
  };
}

function addTopLevelNode(walk: MetadataWalk, top: unknown): number | null {
  if (!isJsonObject(top)) {
    walk.issues.add('not_an_entity');
    return null;
  }
  const before = walk.nodes.length;
  const place = findOrAddNode(walk, top);
  if (place < before) walk.issues.add('duplicate_id', walk.nodes[place]!.id ?? '');
  return place;
}

function readNodeProperties(walk: MetadataWalk, place: number, object: JsonObject, depth: number): void {
  readNodeTypes(walk, walk.nodes[place]!, walk.terms.valueOf(object, '@type'));
  for (const word of Object.keys(object)) {
    const name = walk.terms.nameOf(word);
    if (name === '') continue;
    if (name.startsWith('@')) readJsonLdKeyword(walk, place, name, object[word], depth);
    else
      readPropertyValue(
        walk,
        { from: place, name, isReference: walk.terms.isReference(word) },
        object[word],
        depth,
      );
  }
}

function readNodeTypes(walk: MetadataWalk, node: GraphNode, value: unknown): void {
  const given: unknown[] = Array.isArray(value) ? value : [value];
  for (const type of given) {
    const word = typeof type === 'string' ? type : isJsonObject(type) ? type['@id'] : null;
    if (typeof type !== 'string' && type !== undefined) walk.issues.add('type_not_text');
    if (typeof word === 'string') addNodeType(walk, node, walk.terms.nameOf(word));
  }
}

function addNodeType(walk: MetadataWalk, { types }: GraphNode, name: string): void {
  const plain = name.replace(/^@+/, '');
  if (plain === '' || types.includes(plain)) return;
  if (types.length < maxTypesPerEntity) types.push(plain);
  else walk.issues.add('too_many_types');
}

function readJsonLdKeyword(
  walk: MetadataWalk,
  place: number,
  keyword: string,
  value: unknown,
  depth: number,
): void {
  if (keyword === '@reverse') readReverseProperties(walk, place, value, depth);
  else if (keyword === '@graph' || keyword === '@included') readNestedGraph(walk, value, depth + 1);
  else if (keyword === '@context') walk.issues.add('context_within');
}

function readPropertyValue(walk: MetadataWalk, slot: PropertySlot, value: unknown, depth: number): void {
  if (typeof value === 'string') {
    if (slot.isReference) addReference(walk, slot, value);
    else readTextValue(walk, slot, value);
  } else if (typeof value === 'number' || typeof value === 'boolean') {
    addProperty(walk, slot.from, { name: slot.name, text: String(value) });
  } else if (value === null || value === undefined) return;
  else if (depth >= maxMetadataDepth) walk.issues.add('nested_too_deeply', slot.name);
  else if (Array.isArray(value)) readListValue(walk, slot, value, depth + 1);
  else readObjectValue(walk, slot, value as JsonObject, depth + 1);
}

function readTextValue(walk: MetadataWalk, { from, name }: PropertySlot, text: string): void {
  if (text === '') return;
  if (text.length > maxPropertyTextLength) walk.issues.add('text_too_long', name);
  const short = truncateMetadataText(text, maxPropertyTextLength);
  if (!isStorableText(short)) walk.issues.add('character_replaced', name);
  addProperty(walk, from, { name, text: replaceUnstorableCharacters(short) });
}

function readListValue(
  walk: MetadataWalk,
  slot: PropertySlot,
  list: readonly unknown[],
  depth: number,
): void {
  for (const item of list) {
    if (Array.isArray(item)) walk.issues.add('nested_list', slot.name);
    readPropertyValue(walk, slot, item, depth);
  }
}

function readObjectValue(walk: MetadataWalk, slot: PropertySlot, object: JsonObject, depth: number): void {
  if (object['@value'] !== undefined) return readTypedValue(walk, slot, object['@value']);
  const items = object['@list'] ?? object['@set'];
  if (items !== undefined) return readPropertyValue(walk, slot, items, depth);
  const target = resolveObjectTarget(walk, object, depth);
  if (typeof target === 'number') addProperty(walk, slot.from, { name: slot.name, target });
  else if (target !== null) addReference(walk, slot, target);
}

function readTypedValue(walk: MetadataWalk, slot: PropertySlot, value: unknown): void {
  if (typeof value === 'object' && value !== null) walk.issues.add('value_not_readable', slot.name);
  else readPropertyValue(walk, { ...slot, isReference: false }, value, 0);
}

/** What an object refers to: the index of a nested entity, the id of one that is defined elsewhere, or null. */
function resolveObjectTarget(walk: MetadataWalk, object: JsonObject, depth: number): number | string | null {
  const id = walk.terms.valueOf(object, '@id');
  const size = countKeysUpToTwo(object);
  if (size === 0) return null;
  if (size === 1 && typeof id === 'string') return id;
  if (size === 1 && id !== undefined) return readEntityId(id, walk.issues);
  walk.issues.add('nested_entity', typeof id === 'string' ? id : '');
  const place = findOrAddNode(walk, object);
  readNodeProperties(walk, place, object, depth);
  return place;
}

/** Counts to two only: nobody needs to know how many more there are. */
function countKeysUpToTwo(object: JsonObject): 0 | 1 | 2 {
  let count: 0 | 1 | 2 = 0;
  for (const _ in object) {
    if (count === 1) return 2;
    count = 1;
  }
  return count;
}

/** `{"@reverse": {"author": {"@id": "x"}}}` says that this is the author of x. */
function readReverseProperties(walk: MetadataWalk, place: number, value: unknown, depth: number): void {
  if (!isJsonObject(value)) return walk.issues.add('reverse_not_readable');
  for (const word of Object.keys(value)) {
    const name = walk.terms.nameOf(word);
    const others: unknown[] = Array.isArray(value[word]) ? value[word] : [value[word]];
    if (name !== '' && !name.startsWith('@'))
      for (const other of others) addReverseReference(walk, place, name, other, depth + 1);
  }
}

function addReverseReference(
  walk: MetadataWalk,
  place: number,
  name: string,
  other: unknown,
  depth: number,
): void {
  if (depth >= maxMetadataDepth) return walk.issues.add('nested_too_deeply', name);
  const found = isJsonObject(other) ? resolveObjectTarget(walk, other, depth) : null;
  const from = typeof found === 'string' ? walk.places.get(toEntityKey(found, walk.terms.base)) : found;
  if (typeof from === 'number') addProperty(walk, from, { name, target: place });
  else walk.issues.add('reverse_not_readable', name);
}

function readNestedGraph(walk: MetadataWalk, value: unknown, depth: number): void {
  if (depth >= maxMetadataDepth) return walk.issues.add('nested_too_deeply');
  for (const entity of Array.isArray(value) ? (value as unknown[]) : [value])
    if (isJsonObject(entity)) readNodeProperties(walk, findOrAddNode(walk, entity), entity, depth);
    else walk.issues.add('not_an_entity');
}
