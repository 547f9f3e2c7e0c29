import { WorkcrateError } from '../../../platform/errors.ts';
import {
  replaceUnstorableCharacters,
  truncateMetadataText,
  parseRoCrateVersion,
  type MetadataIssues,
} from './graph.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Limits for memory: the worst document that passes must fit into 2 GB, next to the index. */
export interface MetadataLimits {
  readonly bytes: number;
  /** JSON values of any kind, including objects and lists. */
  readonly values: number;
  readonly entities: number;
  /** Of all entities together. */
  readonly properties: number;
  /** Different names of properties and types. */
  readonly names: number;
}

export const defaultMetadataLimits: MetadataLimits = {
  bytes: 256 * 1024 * 1024,
  values: 5_000_000,
  entities: 500_000,
  properties: 3_000_000,
  names: 20_000,
};

/** Parses a metadata file. `metadata_invalid` if it is not JSON, `too_large` if it would not fit in memory. */
export function parseMetadataJson(
  bytes: Uint8Array,
  issues: MetadataIssues,
  most: MetadataLimits = defaultMetadataLimits,
): unknown {
  if (bytes.length > most.bytes)
    throw metadataTooLargeError(`has ${bytes.length} bytes; at most ${most.bytes} can be read`);
  const text = decodeMetadata(bytes, issues);
  // A value takes at least two characters, so crates of usual size skip the counting.
  if (text.length > 2 * most.values && countJsonSeparators(text) > most.values)
    checkJsonValueCount(text, most.values);
  return parseJsonOrThrow(text);
}

export function metadataTooLargeError(reason: string): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The metadata of the crate ${reason}. Split the crate into smaller ones.`,
  );
}

function parseJsonOrThrow(text: string): unknown {
  if (text.trim() === '') throw notJsonError('it is empty', null);
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    throw notJsonError(replaceUnstorableCharacters(error.message), error);
  }
}

function notJsonError(reason: string, cause: unknown): WorkcrateError {
  return new WorkcrateError('metadata_invalid', `The metadata of the crate is not JSON: ${reason}`, {
    cause,
  });
}

/** A comma, or the start of a list or an object. */
function isJsonSeparator(code: number): boolean {
  return code === 0x2c || code === 0x5b || code === 0x7b;
}

/** An upper bound of the number of values. Separators within strings count too, which makes it fast. */
function countJsonSeparators(text: string): number {
  let count = 1;
  for (let at = 0; at < text.length; at++) if (isJsonSeparator(text.charCodeAt(at))) count++;
  return count;
}

/**
 * Counts values before any of them takes memory: `{},` has three bytes here and takes eighty when parsed. It counts in
 * the decoded text, since in bytes half of a UTF-16 character may look like a quote.
 */
function checkJsonValueCount(text: string, most: number): void {
  let values = 1;
  let isWithin = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isWithin = !isWithin;
    else if (isWithin) at += code === 0x5c ? 1 : 0;
    else if (isJsonSeparator(code)) values++;
  }
  if (values > most) throw metadataTooLargeError(`has ${values} values; at most ${most} can be read`);
}

const strictUtf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a metadata file, which should be UTF-8; other encodings are accepted with an issue. */
function decodeMetadata(bytes: Uint8Array, issues: MetadataIssues): string {
  const wide = detectUtf16(bytes);
  if (wide !== null) {
    issues.add('not_utf8', wide);
    return new TextDecoder(wide).decode(bytes);
  }
  const text = decodeUtf8OrDamaged(bytes, issues);
  if (!text.startsWith('\u{feff}')) return text;
  issues.add('byte_order_mark');
  return text.slice(1);
}

/** UTF-16 is recognized by its byte order mark, or by a NUL next to the first character, which is ASCII in JSON. */
function detectUtf16(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return null;
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return 'utf-16be';
  return null;
}

function decodeUtf8OrDamaged(bytes: Uint8Array, issues: MetadataIssues): string {
  try {
    return strictUtf8Decoder.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    issues.add('not_utf8');
    return decodeDamagedUtf8(bytes);
  }
}

/** Damaged UTF-8 if some of its non-ASCII letters are valid; otherwise text from an old Windows. */
function decodeDamagedUtf8(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return /[^\p{ASCII}\u{fffd}]/u.test(text) ? text : new TextDecoder('windows-1252').decode(bytes);
}

/** What the @context says about the terms of a document. No context is fetched: those of RO-Crate are not needed. */
export interface ContextTerms {
  /** The base of relative ids; null if that is the location of the file. */
  readonly base: string | null;
  /** The version of RO-Crate, from the address of its context. */
  readonly version: string | null;
  /** A keyword such as `@id`, or the short name of a property or type; empty where there is none. */
  nameOf(word: string): string;
  /** Whether the plain texts of a property are ids. */
  isReference(word: string): boolean;
  /** The value of a keyword, under whatever word stands for it. */
  valueOf(object: JsonObject, keyword: '@id' | '@type' | '@graph'): unknown;
}

/** How many resolved words are cached. Several words may resolve to one name. */
const maxCachedTerms = 100_000;

export function readJsonLdContext(
  context: unknown,
  issues: MetadataIssues,
  mostNames: number = defaultMetadataLimits.names,
): ContextTerms {
  const found = collectContext(context, issues);
  const names = new Map<string, string>();
  const admit = limitPropertyNames(mostNames, issues);
  const nameOf = (word: string): string => {
    const known = names.get(word);
    if (known !== undefined) return known;
    const name = admit(resolveTermName(word, found.definitions.get(word), issues));
    if (names.size < maxCachedTerms) names.set(word, name);
    return name;
  };
  return {
    base: found.base,
    version: found.version,
    nameOf,
    isReference: found.references.size === 0 ? () => false : (word) => found.references.has(word),
    valueOf(object, keyword) {
      const value = object[keyword];
      return value === undefined ? findAliasedValue(object, found.aliases.get(keyword)) : value;
    },
  };
}

/** Names that this code reads are always accepted. */
const reservedPropertyNames = (
  'name description author creator keywords license datePublished identifier about conformsTo hasPart mainEntity ' +
  'text value url email abstract summary givenName familyName alternateName headline title termCode cite-as ' +
  'Dataset File Person Organization'
).split(' ');

/** Metadata with a new name for each value would fill the index with names; names beyond the limit are ignored. */
function limitPropertyNames(most: number, issues: MetadataIssues): (name: string) => string {
  const taken = new Set(reservedPropertyNames);
  return (name) => {
    if (name === '' || name.startsWith('@') || taken.has(name)) return name;
    if (taken.size >= most + reservedPropertyNames.length) {
      issues.add('too_many_names', name);
      return '';
    }
    taken.add(name);
    return name;
  };
}

interface ContextDefinitions {
  /** Terms, and the addresses, prefixed names or keywords that they mean. */
  readonly definitions: Map<string, string>;
  readonly references: Set<string>;
  readonly aliases: Map<string, string[]>;
  base: string | null;
  version: string | null;
}

function collectContext(context: unknown, issues: MetadataIssues): ContextDefinitions {
  const found: ContextDefinitions = {
    definitions: new Map(),
    references: new Set(),
    aliases: new Map(),
    base: null,
    version: null,
  };
  if (context === undefined || context === null) issues.add('context_missing');
  // A context may be a list, but not a nested one.
  for (const part of Array.isArray(context) ? (context as unknown[]) : [context])
    collectContextPart(part, found, issues);
  return found;
}

function collectContextPart(part: unknown, found: ContextDefinitions, issues: MetadataIssues): void {
  if (typeof part === 'string') found.version ??= parseRoCrateVersion(part);
  else if (isJsonObject(part))
    for (const term of Object.keys(part)) collectContextTerm(term, part[term], found);
  else if (part !== null && part !== undefined) issues.add('context_not_readable');
}

function collectContextTerm(term: string, definition: unknown, found: ContextDefinitions): void {
  const iri = isJsonObject(definition) ? definition['@id'] : definition;
  if (term === '@base') found.base = toContextBase(iri);
  if (term.startsWith('@')) return;
  if (isJsonObject(definition) && definition['@type'] === '@id') found.references.add(term);
  if (typeof iri !== 'string' || iri === '') return;
  found.definitions.set(term, iri);
  if (iri.startsWith('@')) found.aliases.set(iri, [...(found.aliases.get(iri) ?? []).slice(0, 9), term]);
}

/** Ids are compared by what follows the base, so it must end like a folder. */
function toContextBase(base: unknown): string | null {
  return typeof base === 'string' && /^[a-z][a-z0-9+.-]*:.*[/#]$/i.test(base) ? base : null;
}

function findAliasedValue(object: JsonObject, words: readonly string[] | undefined): unknown {
  const word = words?.find((word) => Object.hasOwn(object, word));
  return word === undefined ? undefined : object[word];
}

const maxTermLength = 200;

/** An address or a prefixed name: `https://schema.org/Person`, `schema:Person`. */
const iriPattern = /^[a-z_][a-z0-9_+.-]*:\S+$/i;

/** The last part of an address or a prefixed name, anything else as it is. */
function toShortTerm(word: string): string {
  const plain = word.trim();
  if (!iriPattern.test(plain)) return plain;
  const last = getLastIriPart(plain);
  // RO-Crate says File where schema.org says MediaObject.
  return last === 'MediaObject' ? 'File' : last;
}

/** Searches from the end, since an address may have any number of parts. */
function getLastIriPart(address: string): string {
  let end = address.length;
  while (end > 0 && isIriSeparator(address[end - 1]!)) end--;
  let start = end;
  while (start > 0 && !isIriSeparator(address[start - 1]!)) start--;
  return start === end ? address : address.slice(start, end);
}

function isIriSeparator(character: string): boolean {
  return character === '/' || character === '#' || character === ':';
}

/**
 * The name of a property or a type. A word that the context defines gets the name of its definition, so that a custom
 * word for `author` is an author. Many vocabularies use numbers as names, though; there the word itself is kept.
 */
function resolveTermName(word: string, definition: string | undefined, issues: MetadataIssues): string {
  if (word.startsWith('@')) return word;
  if (definition?.startsWith('@')) return definition;
  const meant = definition === undefined ? '' : toShortTerm(definition);
  return normalizeTermName(/^[A-Za-z]+$/.test(meant) ? meant : toShortTerm(word), issues);
}

function normalizeTermName(name: string, issues: MetadataIssues): string {
  // Only keywords may begin with @.
  const plain = replaceUnstorableCharacters(name).replace(/^@+/, '');
  if (plain === '') issues.add('name_empty');
  if (plain.length > maxTermLength) issues.add('name_too_long', plain);
  return truncateMetadataText(plain, maxTermLength);
}
