/**
 * What the `@context` of a crate defines, without fetching anything: the terms of the contexts of RO-Crate and of Workflow
 * Run Crate are known here. Names of entities and values are read in `view.ts`.
 */
import { isJsonObject, parseRoCrateVersion } from '../crates/metadata/metadata.ts';
import knownTerms from './terms.json' with { type: 'json' };

export const crateVersions = ['1.1', '1.2', '1.3'] as const;
export type CrateVersion = (typeof crateVersions)[number];

/** The rules by which a stated version is judged, or null for a text that is no version. */
export function toKnownVersion(stated: string): CrateVersion | null {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(stated) ?? [];
  if (major === undefined) return null;
  const number = Number(major) * 1000 + Number(minor);
  if (number <= 1001) return '1.1';
  return number === 1002 ? '1.2' : '1.3';
}

export interface ViewedContext {
  readonly isMissing: boolean;
  /** Addresses of contexts, in their order. */
  readonly addresses: readonly string[];
  /** Addresses whose terms are not known here. */
  readonly unknown: readonly string[];
  /** Parts that are neither an address nor definitions. */
  readonly hasUnreadablePart: boolean;
  /** Whether a key or a type has a meaning: it is a term, a keyword, or begins with a prefix that is one. */
  isDefined(word: string): boolean;
  /** Whether there is a default vocabulary, which gives every word a meaning. */
  readonly hasVocabulary: boolean;
}

export function viewContext(context: unknown): ViewedContext {
  const parts: unknown[] = Array.isArray(context) ? context : [context];
  const addresses = parts.filter((part) => typeof part === 'string');
  const own = new Set(parts.filter(isJsonObject).flatMap((part) => Object.keys(part)));
  const known = addresses.map(findTermsOfContext);
  const isTerm = (word: string): boolean => own.has(word) || known.some((terms) => terms?.has(word));
  return {
    isMissing: context === undefined || context === null,
    addresses,
    unknown: addresses.filter((_, at) => known[at] === null),
    hasUnreadablePart:
      context !== undefined && parts.some((part) => typeof part !== 'string' && !isJsonObject(part)),
    isDefined: (word) => word.startsWith('@') || isTerm(word) || isTerm(getPrefix(word)),
    hasVocabulary: own.has('@vocab'),
  };
}

/** Empty where there is none: no term is empty. */
function getPrefix(word: string): string {
  const colon = word.indexOf(':');
  return colon === -1 || word.startsWith('//', colon + 1) ? '' : word.slice(0, colon);
}

/** Each is made when a crate first refers to it. */
const madeTerms = new Map<string, ReadonlySet<string>>();

function findTermsOfContext(address: string): ReadonlySet<string> | null {
  if (/^https?:\/\/w3id\.org\/ro\/terms\/workflow-run(?:\/context)?\/?$/.test(address))
    return makeTermsOnce('workflow-run', () => new Set(knownTerms['Workflow Run Crate']));
  const stated = parseRoCrateVersion(address);
  const version = stated === null ? null : toKnownVersion(stated);
  return version === null ? null : makeTermsOnce(version, () => makeTermsOfVersion(version));
}

function makeTermsOnce(name: string, make: () => Set<string>): ReadonlySet<string> {
  const terms = madeTerms.get(name) ?? make();
  madeTerms.set(name, terms);
  return terms;
}

function makeTermsOfVersion(version: CrateVersion): Set<string> {
  const first = new Set(knownTerms['RO-Crate 1.1']);
  if (version === '1.1') return first;
  const second = first
    .difference(new Set(knownTerms['removed in RO-Crate 1.2']))
    .union(new Set(knownTerms['added in RO-Crate 1.2']));
  return version === '1.2' ? second : second.union(new Set(knownTerms['added in RO-Crate 1.3']));
}
