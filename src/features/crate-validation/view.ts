/**
 * A metadata document as rules look at it: its entities as they were written, with types and keys by short names and
 * references resolved. Nothing is repaired here, unlike in `metadata/`: a validator has to see what is wrong.
 */
import {
  createMetadataIssues,
  isJsonObject,
  parseMetadataJson,
  readJsonLdContext,
  toEntityKey,
  type ContextTerms,
  type JsonObject,
} from '../crates/metadata/metadata.ts';
import { viewContext, type ViewedContext } from './context.ts';

/** One object of the graph. */
export interface ViewedEntity {
  /** Its @id as it was written; null where it is missing or not text. */
  readonly id: string | null;
  /** Short names. */
  readonly types: readonly string[];
  readonly json: JsonObject;
  /** Its index in the graph. */
  readonly at: number;
}

/** One value of a property; lists have several. */
export type ViewedValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'number or boolean'; readonly text: string }
  | { readonly kind: 'reference'; readonly id: string; readonly entity: ViewedEntity | null }
  | { readonly kind: 'nested' };

/** A key or a type in use: how often, and where first. */
export interface WordUse {
  readonly word: string;
  readonly first: ViewedEntity;
  count: number;
}

export interface DocumentView {
  readonly context: ViewedContext;
  /** Null where the document has no @graph that is a list. */
  readonly graph: readonly unknown[] | null;
  readonly entities: readonly ViewedEntity[];
  readonly descriptor: ViewedEntity | null;
  readonly root: ViewedEntity | null;
  /** Keys and types as they were written. */
  readonly keysInUse: readonly WordUse[];
  readonly typesInUse: readonly WordUse[];
  /** Why the bytes are not plain UTF-8; null where they are. */
  readonly encodingProblem: 'not_utf8' | 'byte_order_mark' | null;
  find(id: string): ViewedEntity | null;
  ofType(type: string): readonly ViewedEntity[];
  /** The path below the root that an id means; null for an absolute address, a fragment and a blank node. */
  toPath(id: string): string | null;
  valuesOf(entity: ViewedEntity, property: string): ViewedValue[];
  /** Every value of an entity, with the key that it is under. */
  allValuesOf(entity: ViewedEntity): Iterable<readonly [key: string, value: ViewedValue]>;
}

const descriptorId = 'ro-crate-metadata.json';
const legacyDescriptorId = 'ro-crate-metadata.jsonld';

/** Throws `metadata_invalid` where there is no JSON, and `too_large` where it would not fit in memory. */
export function viewDocument(bytes: Uint8Array): DocumentView {
  const issues = createMetadataIssues();
  const document = parseMetadataJson(bytes, issues);
  const encoding = issues.list()[0]?.code;
  const json = isJsonObject(document) ? document : {};
  const terms = readJsonLdContext(json['@context'], issues, Number.POSITIVE_INFINITY);
  const graph = terms.valueOf(json, '@graph');
  return viewGraph(Array.isArray(graph) ? graph : null, terms, {
    context: viewContext(json['@context']),
    encodingProblem: encoding === 'not_utf8' || encoding === 'byte_order_mark' ? encoding : null,
  });
}

function viewGraph(
  graph: unknown[] | null,
  terms: ContextTerms,
  read: Pick<DocumentView, 'context' | 'encodingProblem'>,
): DocumentView {
  const entities = (graph ?? []).flatMap((json, at) =>
    isJsonObject(json) ? [viewEntity(json, at, terms)] : [],
  );
  const byKey = new Map<string, ViewedEntity>();
  const byType = new Map<string, ViewedEntity[]>();
  for (const entity of entities) {
    const key = entity.id === null ? null : toEntityKey(entity.id, terms.base);
    if (key !== null && !byKey.has(key)) byKey.set(key, entity);
    for (const type of new Set(entity.types)) addToList(byType, type, entity);
  }
  const find = (id: string): ViewedEntity | null => byKey.get(toEntityKey(id, terms.base)) ?? null;
  const toValue = createValueReader(terms, find);
  const keysInUse = countEntityWords(entities, (entity) => Object.keys(entity.json));
  const keysOfName = new Map<string, string[]>();
  for (const { word } of keysInUse) addToList(keysOfName, terms.nameOf(word), word);

  const valuesOf = (entity: ViewedEntity, property: string): ViewedValue[] =>
    (keysOfName.get(property) ?? []).flatMap((key) =>
      Object.hasOwn(entity.json, key) ? listItems(entity.json[key]).map(toValue) : [],
    );
  const descriptor = find(descriptorId) ?? find(legacyDescriptorId);
  const about = descriptor === null ? [] : valuesOf(descriptor, 'about');
  return {
    ...read,
    graph,
    entities,
    descriptor,
    root: about.map((value) => (value.kind === 'reference' ? value.entity : null)).find(Boolean) ?? null,
    keysInUse,
    typesInUse: countEntityWords(entities, (entity) => listEntityTypes(entity.json, terms)),
    find,
    ofType: (type) => byType.get(type) ?? [],
    toPath: (id) => toPathBelow(toEntityKey(id, terms.base)),
    valuesOf,
    *allValuesOf({ json }) {
      for (const key of Object.keys(json))
        if (!key.startsWith('@')) for (const item of listItems(json[key])) yield [key, toValue(item)];
    },
  };
}

function viewEntity(json: JsonObject, at: number, terms: ContextTerms): ViewedEntity {
  const id = terms.valueOf(json, '@id');
  return {
    id: typeof id === 'string' && id !== '' ? id : null,
    types: listEntityTypes(json, terms).map((type) => terms.nameOf(type)),
    json,
    at,
  };
}

/** Types as they were written. Nobody needs more. */
const maxEntityTypes = 100;

const listEntityTypes = (json: JsonObject, terms: ContextTerms): string[] =>
  listItems(terms.valueOf(json, '@type'))
    .filter((type) => typeof type === 'string')
    .slice(0, maxEntityTypes);

/** The values of a property. A list in a list is one value, which is found to be wrong. */
function listItems(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  const list = isJsonObject(value) ? (value['@list'] ?? value['@set']) : undefined;
  return Array.isArray(list) ? list : [value];
}

function createValueReader(
  terms: ContextTerms,
  find: (id: string) => ViewedEntity | null,
): (item: unknown) => ViewedValue {
  return (item) => {
    if (typeof item === 'string') return { kind: 'text', text: item };
    if (!isJsonObject(item)) return toViewedValue(item);
    if (item['@value'] !== undefined) return toViewedValue(item['@value']);
    const id = terms.valueOf(item, '@id');
    return typeof id === 'string' ? { kind: 'reference', id, entity: find(id) } : { kind: 'nested' };
  };
}

function toViewedValue(value: unknown): ViewedValue {
  if (typeof value === 'string') return { kind: 'text', text: value };
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return isPlain ? { kind: 'number or boolean', text: String(value) } : { kind: 'nested' };
}

function addToList<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

function countEntityWords(
  entities: readonly ViewedEntity[],
  listWords: (entity: ViewedEntity) => readonly string[],
): WordUse[] {
  const uses = new Map<string, WordUse>();
  for (const entity of entities)
    for (const word of listWords(entity)) {
      const use = uses.get(word);
      if (use === undefined) uses.set(word, { word, first: entity, count: 1 });
      else use.count++;
    }
  return [...uses.values()];
}

/** `key` has neither the base nor a leading `./`. */
function toPathBelow(key: string): string | null {
  return /^(?:#|_:|[a-z][a-z0-9+.-]+:)/i.test(key) ? null : key;
}
