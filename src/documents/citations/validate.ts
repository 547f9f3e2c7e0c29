import type { Bibliography } from './bibliography.ts';
import { nearKeys } from './near.ts';

export interface Validation {
  /** Whether every key that is cited has an entry. */
  valid: boolean;
  missing: { key: string; count: number; suggestions: string[] }[];
  unused: string[];
  /** Keys that several entries have. */
  duplicates: string[];
  /** Different keys that are cited. */
  cited: number;
  entries: number;
}

export interface CitedKey {
  readonly key: string;
  readonly count: number;
}

/** Longest list that is given. */
const mostListed = 1000;
/** For further keys nothing is looked for that is like them: each is compared with every entry. */
const mostSuggestedFor = 50;

/** Compares what is cited with what is there. `*`, as in `nocite: '@*'`, cites everything. */
export function validateCitations(given: {
  readonly cited: readonly CitedKey[];
  readonly bibliography: Bibliography | null;
}): Validation {
  const { references, duplicates } = given.bibliography ?? { references: [], duplicates: [] };
  const cited = given.cited.filter(({ key }) => key !== '*');
  const entries = references.map(({ id }) => id);
  const known = new Set(entries);
  const asked = new Set(given.cited.map(({ key }) => key));
  const missing = cited.filter(({ key }) => !known.has(key));
  const unused = asked.has('*') ? [] : entries.filter((key) => !asked.has(key));
  return {
    valid: missing.length === 0,
    missing: missing.slice(0, mostListed).map(({ key, count }, at) => ({
      key,
      count,
      suggestions: at < mostSuggestedFor ? nearKeys(key, entries) : [],
    })),
    unused: unused.slice(0, mostListed),
    duplicates: duplicates.slice(0, mostListed),
    cited: cited.length,
    entries: entries.length,
  };
}
