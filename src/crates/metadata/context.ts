import { isObject, limits, type JsonObject } from './document.ts';
import type { Issues } from './issues.ts';
import { nameFrom } from './names.ts';
import { versionIn } from './version.ts';

/** What the @context says about the words of a document. No context is fetched: those of RO-Crate need not be. */
export interface Terms {
  /** What relative ids stand below; null where it is where the file is. */
  readonly base: string | null;
  /** Version of RO-Crate by the address of its context. */
  readonly version: string | null;
  /** A keyword such as `@id`, or the short name of a property or type; empty where there is none. */
  nameOf(word: string): string;
  /** Whether the plain texts of a property are ids. */
  isReference(word: string): boolean;
  /** The value of a keyword, under whatever word stands for it. */
  valueOf(object: JsonObject, keyword: '@id' | '@type' | '@graph'): unknown;
}

/** Words that are looked up once and for all; there are many words for one name. */
const mostRemembered = 100_000;

export function readContext(context: unknown, issues: Issues, mostNames: number = limits.names): Terms {
  const found = collect(context, issues);
  const names = new Map<string, string>();
  const admit = admitNames(mostNames, issues);
  const nameOf = (word: string): string => {
    const known = names.get(word);
    if (known !== undefined) return known;
    const name = admit(nameFrom(word, found.definitions.get(word), issues));
    if (names.size < mostRemembered) names.set(word, name);
    return name;
  };
  return {
    base: found.base,
    version: found.version,
    nameOf,
    isReference: found.references.size === 0 ? () => false : (word) => found.references.has(word),
    valueOf(object, keyword) {
      const value = object[keyword];
      return value === undefined ? aliased(object, found.aliases.get(keyword)) : value;
    },
  };
}

/** Names that are read here have to be taken wherever they stand. */
const alwaysTaken = (
  'name description author creator keywords license datePublished identifier about conformsTo hasPart mainEntity ' +
  'text value url email abstract summary givenName familyName alternateName headline title termCode cite-as ' +
  'Dataset File Person Organization'
).split(' ');

/** Somebody who makes up a name for each value fills the index with names; those beyond the bound are passed over. */
function admitNames(most: number, issues: Issues): (name: string) => string {
  const taken = new Set(alwaysTaken);
  return (name) => {
    if (name === '' || name.startsWith('@') || taken.has(name)) return name;
    if (taken.size >= most + alwaysTaken.length) {
      issues.add('too_many_names', name);
      return '';
    }
    taken.add(name);
    return name;
  };
}

interface Collected {
  /** Terms, and the addresses, prefixed names or keywords that they stand for. */
  readonly definitions: Map<string, string>;
  readonly references: Set<string>;
  readonly aliases: Map<string, string[]>;
  base: string | null;
  version: string | null;
}

function collect(context: unknown, issues: Issues): Collected {
  const found: Collected = {
    definitions: new Map(),
    references: new Set(),
    aliases: new Map(),
    base: null,
    version: null,
  };
  if (context === undefined || context === null) issues.add('context_missing');
  // A context is a list of at most one level.
  for (const part of Array.isArray(context) ? (context as unknown[]) : [context])
    collectPart(part, found, issues);
  return found;
}

function collectPart(part: unknown, found: Collected, issues: Issues): void {
  if (typeof part === 'string') found.version ??= versionIn(part);
  else if (isObject(part)) for (const term of Object.keys(part)) collectTerm(term, part[term], found);
  else if (part !== null && part !== undefined) issues.add('context_not_readable');
}

function collectTerm(term: string, definition: unknown, found: Collected): void {
  const iri = isObject(definition) ? definition['@id'] : definition;
  if (term === '@base') found.base = usableBase(iri);
  if (term.startsWith('@')) return;
  if (isObject(definition) && definition['@type'] === '@id') found.references.add(term);
  if (typeof iri !== 'string' || iri === '') return;
  found.definitions.set(term, iri);
  if (iri.startsWith('@')) found.aliases.set(iri, [...(found.aliases.get(iri) ?? []).slice(0, 9), term]);
}

/** Ids are compared by what follows the base, so it has to be a folder of some kind. */
function usableBase(base: unknown): string | null {
  return typeof base === 'string' && /^[a-z][a-z0-9+.-]*:.*[/#]$/i.test(base) ? base : null;
}

function aliased(object: JsonObject, words: readonly string[] | undefined): unknown {
  const word = words?.find((word) => Object.hasOwn(object, word));
  return word === undefined ? undefined : object[word];
}
