/**
 * How entities are indexed: a token for each type and for each property with its value, the values themselves for parts of
 * them, and which entity refers to which. `entity-search.ts` searches for them.
 */
import type { Entity } from '../crate.ts';
import { foldCaseAndAccents } from '../text/words.ts';
import { toIndexable } from './texts.ts';

/** An entity has the number of its document times this, plus its place in it. */
export const entitiesPerDocument = 2 ** 24;

/** So much of a value is looked through for a part of it. */
const maxFolded = 500;

/** A value as it is compared: what looks the same is the same, and white space around it does not count. */
const normalizeValue = (text: string): string => toIndexable(text).normalize('NFC').trim();

/** A value as a part of it is looked for. */
export const foldValue = (value: string): string =>
  foldCaseAndAccents(normalizeValue(value).slice(0, maxFolded)).slice(0, maxFolded).toWellFormed();

/** A number of 53 bits (cyrb53). Who makes two texts with the same one finds a crate of their own too much. */
function hashText(text: string): number {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909);
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  return 4294967296 * (2097151 & two) + (one >>> 0);
}

/** Of a property with a value. */
export const hashValue = (property: string, value: string): number =>
  hashText(`${property}\0${normalizeValue(value)}`);

export const toValueToken = (hash: number): string => `v${hash.toString(36)}`;

/** Types are compared without case. */
export const toTypeToken = (type: string): string => `t${hashText(foldCaseAndAccents(type)).toString(36)}`;

export interface EntityFact {
  readonly property: string;
  readonly value: string;
  readonly hash: number;
}

export function* listFacts({ id, properties }: Entity): Generator<EntityFact> {
  if (id !== '') yield { property: '@id', value: id, hash: hashValue('@id', id) };
  for (const property of properties)
    if ('text' in property)
      yield { property: property.name, value: property.text, hash: hashValue(property.name, property.text) };
}

/** The types of entities in a crate with the properties that they have, as JSON: a type is known even without any. */
export function describeShape(entities: readonly Entity[]): string {
  const shape = new Map<string, Set<string>>();
  for (const { id, types, properties } of entities)
    for (const type of types) {
      const known = shape.get(type) ?? new Set<string>();
      shape.set(type, known);
      if (id !== '') known.add('@id');
      for (const { name } of properties) known.add(name);
    }
  const sorted = [...shape].map(([type, names]) => [type, [...names].toSorted()] as const);
  return JSON.stringify(sorted.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

export type EntityShape = readonly (readonly [type: string, properties: readonly string[]])[];

/** Which entity of a crate refers to which, and their types. */
export interface EntityGraph {
  /** Of each entity. */
  readonly types: readonly (string | readonly string[])[];
  /** By property: pairs of the entity that refers and the one that is referred to. */
  readonly references: Readonly<Record<string, readonly number[]>>;
}

/** Null where none refers to another. */
export function buildGraph(entities: readonly Entity[]): EntityGraph | null {
  const references: Record<string, number[]> = Object.create(null) as Record<string, number[]>;
  for (const [at, { properties }] of entities.entries())
    for (const property of properties)
      if ('target' in property) (references[property.name] ??= []).push(at, property.target);
  if (Object.keys(references).length === 0) return null;
  return { types: entities.map(({ types }) => (types.length === 1 ? types[0]! : types)), references };
}

/** The entities from which a path of references leads to one of `targets`. */
export function walkBack(
  { references }: EntityGraph,
  path: readonly string[],
  targets: Iterable<number>,
): Set<number> {
  let reached = new Set(targets);
  for (const property of path.toReversed()) {
    const from = new Set<number>();
    const pairs = Object.hasOwn(references, property) ? references[property]! : [];
    for (let at = 0; at < pairs.length; at += 2) if (reached.has(pairs[at + 1]!)) from.add(pairs[at]!);
    reached = from;
  }
  return reached;
}
