/**
 * The types by which the search by words (this folder) and the search by meaning (`semantic/`) use each other's rankings,
 * without importing each other's code.
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
  readonly length: number;
  /** The best documents for the query, best first. */
  readonly best: readonly Ranked[];
  /** How rare a word is among what the caller sees. */
  measureRarity(form: string): Promise<number>;
  /** The text that documents are told to be alike by. */
  readTexts(documents: readonly number[]): Promise<ReadonlyMap<number, string>>;
}

/** The search by meaning, as the search by words uses it. */
export interface Meaning {
  /** What it is now: provider, version, how many documents it covers; for people. */
  status(): Promise<MeaningStatus>;
  /** Documents that are near or have words of the query, nearest first. `unsupported` where it is off or not ready. */
  nearest(query: string, most: number, allowed: Allowed, hasWords: Allowed): Promise<Ranked[]>;
  /** Words and meaning together: the best by words in a new order, with what is near. Not all that have the words. */
  hybrid(query: string, words: WordRanking, allowed: Allowed): Promise<Ranked[]>;
}

export interface MeaningStatus {
  readonly provider: 'hash' | 'endpoint' | 'off';
  /** Changes when vectors are made anew. */
  readonly version: string | null;
  /** Those that everybody may see. */
  readonly documents: number;
  /** Whether there are documents without a vector. */
  readonly isStale: boolean;
}

/** Gives what is stored of texts in the index: null where there is nothing to be near to, or it is not known yet. */
export interface VectorSource {
  /** Equal where equal texts have equal vectors. */
  readonly version: string;
  load(texts: readonly (string | null)[]): Promise<(Uint8Array | null)[]>;
}
