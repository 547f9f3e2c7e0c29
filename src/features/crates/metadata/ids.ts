import { createHash } from 'node:crypto';
import {
  replaceUnstorableCharacters,
  truncateMetadataText,
  isStorableText,
  type MetadataIssues,
} from './graph.ts';

/** Longer ones are data in disguise. They are cut, and a hash keeps them distinct. */
const maxEntityIdLength = 1000;

/** An id as it is stored, or null if there is none. */
export function readEntityId(value: unknown, issues: MetadataIssues): string | null {
  if (typeof value === 'string') return value === '' ? null : boundEntityId(value, issues);
  if (value === undefined || value === null) return null;
  issues.add('id_not_text');
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

function boundEntityId(id: string, issues: MetadataIssues): string {
  if (id.length <= maxEntityIdLength && isStorableText(id)) return id;
  if (!isStorableText(id)) issues.add('character_replaced');
  if (id.length <= maxEntityIdLength) return replaceUnstorableCharacters(id);
  issues.add('id_too_long', id);
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 32);
  return `${replaceUnstorableCharacters(truncateMetadataText(id, maxEntityIdLength - hash.length))}${hash}`;
}

export function isBlankNodeId(id: string): boolean {
  return id.startsWith('_:');
}

/** Has a scheme such as `https:` or `urn:`. A single letter is a drive of Windows. */
export function isAbsoluteIri(id: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(id);
}

/** Adds an issue for each problem of an id that names a file. */
export function checkEntityId(id: string, issues: MetadataIssues): void {
  if (id.includes(' ')) issues.add('id_with_space', id);
  if (id.startsWith('/') || /^(?:file:|[a-z]:[/\\])/i.test(id)) issues.add('id_absolute_path', id);
  if (id.includes('..') && /(?:^|[/\\])\.\.(?:[/\\]|$)/.test(id)) issues.add('id_outside', id);
  if (id.includes('\\')) issues.add('id_backslash', id);
}

/** Normalizes an id: `./a` and `a`, with or without the base, give the same key. The key of `./` is empty. */
export function toEntityKey(id: string, base: string | null): string {
  const relative = base !== null && id.startsWith(base) ? id.slice(base.length) : id;
  if (!relative.startsWith('.')) return relative;
  if (relative === '.') return '';
  return relative.startsWith('./') ? relative.slice(countDotSlashPrefix(relative)) : relative;
}

/** The length of all leading `./`. A loop, since a regular expression overflows the stack if there are millions. */
function countDotSlashPrefix(path: string): number {
  let at = 0;
  while (path.startsWith('./', at)) for (at += 2; path[at] === '/';) at++;
  return at;
}

/** Finds ids by other spellings: with or without percent-encoding, with or without a slash at the end of a folder. */
export interface EntitySpellings {
  /** The entity that was most likely meant. */
  find(key: string): number | null;
}

/** Contains nothing that anybody would percent-encode. */
const unescapedIdPattern = /^[\w:/.~#?=&-]*$/;

export function createEntitySpellings(places: ReadonlyMap<string, number>): EntitySpellings {
  let byDecoded: Map<string, number> | null = null;
  const findPlain = (plain: string): number | undefined => {
    if (plain === '') return undefined;
    const place = places.get(plain);
    if (place !== undefined || unescapedIdPattern.test(plain)) return place;
    byDecoded ??= indexByDecodedKey(places);
    return byDecoded.get(plain);
  };
  return {
    find(key) {
      const plain = percentDecodeKey(key);
      const slashed = plain.endsWith('/') ? plain.slice(0, -1) : `${plain}/`;
      return findPlain(plain) ?? findPlain(slashed) ?? null;
    },
  };
}

/** Of several with the same decoded key, the first. */
function indexByDecodedKey(places: ReadonlyMap<string, number>): Map<string, number> {
  const found = new Map<string, number>();
  for (const [key, place] of places) {
    if (!key.includes('%')) continue;
    const plain = percentDecodeKey(key);
    if (!found.has(plain)) found.set(plain, place);
  }
  return found;
}

function percentDecodeKey(key: string): string {
  if (!key.includes('%')) return key;
  try {
    return replaceUnstorableCharacters(decodeURIComponent(key));
  } catch (error) {
    // A literal percent sign.
    if (error instanceof URIError) return key;
    throw error;
  }
}
