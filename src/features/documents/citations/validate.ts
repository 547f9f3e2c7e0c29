/** Compares the keys that a document cites with its bibliography. It parses neither: it gets both parsed. */
import { editDistance } from '../../../platform/text/edit-distance.ts';
import type { Bibliography } from './bibliography.ts';

export interface CitationValidation {
  /** Whether every cited key has an entry. */
  valid: boolean;
  missing: { key: string; count: number; suggestions: string[] }[];
  unused: string[];
  /** Keys of more than one entry. */
  duplicates: string[];
  /** Number of different cited keys. */
  cited: number;
  entries: number;
}

export interface CitedKeyCount {
  readonly key: string;
  readonly count: number;
}

/** Longest list in an answer. */
const maxListedCitations = 1000;
/** Further keys get no suggestions, because each key is compared with every entry. */
const maxKeysWithSuggestions = 50;

/** `*`, as in `nocite: '@*'`, cites everything. */
export function validateCitations(given: {
  readonly cited: readonly CitedKeyCount[];
  readonly bibliography: Bibliography | null;
}): CitationValidation {
  const { references, duplicates } = given.bibliography ?? { references: [], duplicates: [] };
  const cited = given.cited.filter(({ key }) => key !== '*');
  const entries = references.map(({ id }) => id);
  const known = new Set(entries);
  const asked = new Set(given.cited.map(({ key }) => key));
  const missing = cited.filter(({ key }) => !known.has(key));
  const unused = asked.has('*') ? [] : entries.filter((key) => !asked.has(key));
  return {
    valid: missing.length === 0,
    missing: missing.slice(0, maxListedCitations).map(({ key, count }, at) => ({
      key,
      count,
      suggestions: at < maxKeysWithSuggestions ? suggestSimilarKeys(key, entries) : [],
    })),
    unused: unused.slice(0, maxListedCitations),
    duplicates: duplicates.slice(0, maxListedCitations),
    cited: cited.length,
    entries: entries.length,
  };
}

const maxKeySuggestions = 3;
const maxComparedKeyLength = 64;

/** Existing keys that are similar to a missing one, the most similar first. */
function suggestSimilarKeys(key: string, known: readonly string[]): string[] {
  const wanted = normalizeCitationKey(key);
  if (wanted.length === 0 || wanted.length > maxComparedKeyLength) return [];
  const most = Math.min(3, Math.floor(wanted.length / 3));
  return known
    .flatMap((other) => {
      const distance = editDistance(wanted, normalizeCitationKey(other), most);
      return distance === null ? [] : [{ other, distance }];
    })
    .sort((a, b) => a.distance - b.distance)
    .slice(0, maxKeySuggestions)
    .map(({ other }) => other);
}

/** Ignores case, accents and punctuation, which are the most frequent mistakes. */
const normalizeCitationKey = (key: string): string =>
  key
    .slice(0, 4 * maxComparedKeyLength)
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
