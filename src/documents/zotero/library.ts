/** What somebody looks for. All that is given has to fit. */
export interface LibraryQuery {
  /** In titles, creators and years. */
  readonly text?: string;
  /** Also in the text of attachments and in all fields that the library searches. */
  readonly everywhere?: boolean;
  /** One tag; `a || b` is either, `-a` is without. */
  readonly tag?: string;
  /** Key, path or name. */
  readonly collection?: string;
  /** As the library names it, such as `journalArticle`. */
  readonly itemType?: string;
  /** At most 100. */
  readonly limit: number;
  readonly start: number;
}

export interface LibraryItem {
  readonly key: string;
  /** What documents cite it by, where that was set. */
  readonly citationKey: string | null;
  readonly type: string;
  readonly title: string;
  /** In short, such as `Smith and Doe` or `Smith et al.`. */
  readonly creators: string;
  readonly year: number | null;
  readonly doi: string | null;
  readonly url: string | null;
  readonly tags: readonly string[];
  /** Paths such as `Thesis/Methods`. */
  readonly collections: readonly string[];
}

export interface LibraryCollection {
  readonly key: string;
  readonly name: string;
  /** With the names of those above it: `Thesis/Methods`. */
  readonly path: string;
  readonly items: number | null;
}

export type CslValue =
  | string
  | number
  | boolean
  | readonly CslValue[]
  | { readonly [name: string]: CslValue };

/** One reference as CSL JSON. Its `id` is what the document cites. */
export interface CslItem {
  readonly id: string;
  readonly type: string;
  readonly [name: string]: CslValue;
}

/** Keys of items or citation keys; or all of a collection, by key, path or name. */
export type Wanted = readonly string[] | { readonly collection: string };

/** What there is of what was wanted. */
export interface Found<T> {
  readonly references: readonly T[];
  /** Keys that the library does not have, as they were given. */
  readonly missing: readonly string[];
  /** What people should know, such as that the library is too large to be looked through. */
  readonly notes: readonly string[];
}

/** One entry of a .bib file, under the key that the document cites. */
export interface BibtexEntry {
  readonly id: string;
  readonly text: string;
}

/**
 * The port for a library of references, read only. Every call ends within bounds of time and size, and at once when the
 * signal fires, whose reason it then fails with. A library that does not let us in fails with `library_refused`; one
 * that cannot be asked, or asks for patience longer than we have, with `library_unreachable` and `details.retryAfter`
 * in seconds where it is known; a library or collection that is not there with `not_found`. Notes and attachments are
 * left out. A key that is not there is no failure: it is told in `missing`.
 */
export interface Library {
  /** Such as `users/123`. */
  readonly name: string;
  search(
    query: LibraryQuery,
    signal: AbortSignal,
  ): Promise<{ readonly total: number; readonly items: readonly LibraryItem[] }>;
  collections(signal: AbortSignal): Promise<readonly LibraryCollection[]>;
  /** In the order of the keys; an item wanted under two keys is there twice. */
  references(wanted: Wanted, signal: AbortSignal): Promise<Found<CslItem>>;
  bibtex(wanted: Wanted, signal: AbortSignal): Promise<Found<BibtexEntry>>;
}
