/**
 * The types by which the search by words (BM25F, this folder) and the search by meaning (`semantic/`) use each other's
 * rankings, without importing each other's code.
 */

/** A document of the index, by its number there, and how well it fits. */
export interface Ranked {
  readonly document: number;
  readonly score: number;
}

/** Which documents may be found: those that the caller may see and that fit the filters. */
export type Allowed = (document: number) => boolean;

/** The search by words, as the search by meaning uses it. */
export interface WordRanking {
  /** How many words and phrases the query has; what it repeats counts each time. */
  readonly queryLength: number;
  /** The best documents for the query, best first, ties by document key. */
  best(most: number): Promise<Ranked[]>;
  /** What weighted stems are worth to some documents; those without any of them are left out. */
  score(
    stems: ReadonlyMap<string, number>,
    documents: readonly number[],
  ): Promise<ReadonlyMap<number, number>>;
  /** The text that documents are ranked by, for feedback. */
  texts(documents: readonly number[]): Promise<ReadonlyMap<number, string>>;
}

/** The search by meaning, as the search by words uses it. */
export interface Meaning {
  /** What it is now: provider, version, how many documents it covers; for people. */
  status(): Promise<MeaningStatus>;
  /**
   * Documents that are near or have words of the query, nearest first, ties by document key. `unsupported` where it is
   * off or not fitted yet.
   */
  nearest(query: string, most: number, allowed: Allowed, hasWords: Allowed): Promise<Ranked[]>;
  /** Words and meaning together: the best by words in a new order, with what is near. Not all that have the words. */
  hybrid(query: string, words: WordRanking, allowed: Allowed): Promise<Ranked[]>;
}

export interface MeaningStatus {
  readonly provider: 'lsa' | 'hash' | 'endpoint' | 'off';
  /** Changes when vectors are made anew. */
  readonly version: string | null;
  /** Those that everybody may see. */
  readonly documents: number;
  /** Whether documents were added or removed since it was fitted. */
  readonly isStale: boolean;
}
