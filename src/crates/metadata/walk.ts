import { isObject, limits, type JsonObject, type Terms } from './document.ts';
import { cleaned, cut, isClean, type Graph, type Issues, type Node } from './graph.ts';
import { idFrom, keyOf } from './ids.ts';
import { nameNameless, open, put, refer, settle, type Slot, type Walk, type WalkLimits } from './places.ts';

const deepest = 64;
const longestText = 100_000;
const mostTypes = 100;

/**
 * Brings everything that is an entity into one list, wherever it stands. Each value is looked at once: the entities of
 * the top get their places first, so that nearly every reference is known when it is met. The list is emptied.
 */
export function walk(tops: unknown[], terms: Terms, issues: Issues, most: WalkLimits = limits): Graph {
  const walk: Walk = { terms, issues, nodes: [], places: new Map(), waiting: [], most, properties: 0 };
  const places = tops.map((top) => openTop(walk, top));
  for (const [at, place] of places.entries()) {
    if (place !== null) fill(walk, place, tops[at] as JsonObject, 0);
    // What was read is let go, so that the document and what is made of it are never whole at the same time.
    tops[at] = null;
  }
  settle(walk);
  nameNameless(walk);
  return {
    nodes: walk.nodes,
    find: (id) => (id === '' ? null : (walk.places.get(keyOf(id, terms.base)) ?? null)),
  };
}

function openTop(walk: Walk, top: unknown): number | null {
  if (!isObject(top)) {
    walk.issues.add('not_an_entity');
    return null;
  }
  const before = walk.nodes.length;
  const place = open(walk, top);
  if (place < before) walk.issues.add('duplicate_id', walk.nodes[place]!.id ?? '');
  return place;
}

function fill(walk: Walk, place: number, object: JsonObject, depth: number): void {
  takeTypes(walk, walk.nodes[place]!, walk.terms.valueOf(object, '@type'));
  for (const word of Object.keys(object)) {
    const name = walk.terms.nameOf(word);
    if (name === '') continue;
    if (name.startsWith('@')) takeKeyword(walk, place, name, object[word], depth);
    else take(walk, { from: place, name, isReference: walk.terms.isReference(word) }, object[word], depth);
  }
}

function takeTypes(walk: Walk, node: Node, value: unknown): void {
  const given: unknown[] = Array.isArray(value) ? value : [value];
  for (const type of given) {
    const word = typeof type === 'string' ? type : isObject(type) ? type['@id'] : null;
    if (typeof type !== 'string' && type !== undefined) walk.issues.add('type_not_text');
    if (typeof word === 'string') takeType(walk, node, walk.terms.nameOf(word));
  }
}

function takeType(walk: Walk, { types }: Node, name: string): void {
  const plain = name.replace(/^@+/, '');
  if (plain === '' || types.includes(plain)) return;
  if (types.length < mostTypes) types.push(plain);
  else walk.issues.add('too_many_types');
}

function takeKeyword(walk: Walk, place: number, keyword: string, value: unknown, depth: number): void {
  if (keyword === '@reverse') takeReverse(walk, place, value, depth);
  else if (keyword === '@graph' || keyword === '@included') takeEntities(walk, value, depth + 1);
  else if (keyword === '@context') walk.issues.add('context_within');
}

function take(walk: Walk, slot: Slot, value: unknown, depth: number): void {
  if (typeof value === 'string') {
    if (slot.isReference) refer(walk, slot, value);
    else takeText(walk, slot, value);
  } else if (typeof value === 'number' || typeof value === 'boolean') {
    put(walk, slot.from, { name: slot.name, text: String(value) });
  } else if (value === null || value === undefined) return;
  else if (depth >= deepest) walk.issues.add('nested_too_deeply', slot.name);
  else if (Array.isArray(value)) takeList(walk, slot, value, depth + 1);
  else takeObject(walk, slot, value as JsonObject, depth + 1);
}

function takeText(walk: Walk, { from, name }: Slot, text: string): void {
  if (text === '') return;
  if (text.length > longestText) walk.issues.add('text_too_long', name);
  const short = cut(text, longestText);
  if (!isClean(short)) walk.issues.add('character_replaced', name);
  put(walk, from, { name, text: cleaned(short) });
}

function takeList(walk: Walk, slot: Slot, list: readonly unknown[], depth: number): void {
  for (const item of list) {
    if (Array.isArray(item)) walk.issues.add('nested_list', slot.name);
    take(walk, slot, item, depth);
  }
}

function takeObject(walk: Walk, slot: Slot, object: JsonObject, depth: number): void {
  if (object['@value'] !== undefined) return takeValue(walk, slot, object['@value']);
  const items = object['@list'] ?? object['@set'];
  if (items !== undefined) return take(walk, slot, items, depth);
  const target = targetOf(walk, object, depth);
  if (typeof target === 'number') put(walk, slot.from, { name: slot.name, target });
  else if (target !== null) refer(walk, slot, target);
}

function takeValue(walk: Walk, slot: Slot, value: unknown): void {
  if (typeof value === 'object' && value !== null) walk.issues.add('value_not_readable', slot.name);
  else take(walk, { ...slot, isReference: false }, value, 0);
}

/** What an object is: an entity that is written here, the id of one that is written elsewhere, or nothing. */
function targetOf(walk: Walk, object: JsonObject, depth: number): number | string | null {
  const id = walk.terms.valueOf(object, '@id');
  const size = countedKeys(object);
  if (size === 0) return null;
  if (size === 1 && typeof id === 'string') return id;
  if (size === 1 && id !== undefined) return idFrom(id, walk.issues);
  walk.issues.add('nested_entity', typeof id === 'string' ? id : '');
  const place = open(walk, object);
  fill(walk, place, object, depth);
  return place;
}

/** None, one or more: nobody asks for how many more. */
function countedKeys(object: JsonObject): 0 | 1 | 2 {
  let count: 0 | 1 | 2 = 0;
  for (const _ in object) {
    if (count === 1) return 2;
    count = 1;
  }
  return count;
}

/** `{"@reverse": {"author": {"@id": "x"}}}` says that this is the author of x. */
function takeReverse(walk: Walk, place: number, value: unknown, depth: number): void {
  if (!isObject(value)) return walk.issues.add('reverse_not_readable');
  for (const word of Object.keys(value)) {
    const name = walk.terms.nameOf(word);
    const others: unknown[] = Array.isArray(value[word]) ? value[word] : [value[word]];
    if (name !== '' && !name.startsWith('@'))
      for (const other of others) takeReversed(walk, place, name, other, depth + 1);
  }
}

function takeReversed(walk: Walk, place: number, name: string, other: unknown, depth: number): void {
  if (depth >= deepest) return walk.issues.add('nested_too_deeply', name);
  const found = isObject(other) ? targetOf(walk, other, depth) : null;
  const from = typeof found === 'string' ? walk.places.get(keyOf(found, walk.terms.base)) : found;
  if (typeof from === 'number') put(walk, from, { name, target: place });
  else walk.issues.add('reverse_not_readable', name);
}

function takeEntities(walk: Walk, value: unknown, depth: number): void {
  if (depth >= deepest) return walk.issues.add('nested_too_deeply');
  for (const entity of Array.isArray(value) ? (value as unknown[]) : [value])
    if (isObject(entity)) fill(walk, open(walk, entity), entity, depth);
    else walk.issues.add('not_an_entity');
}
