/** What documents cite from, beside the bibliography that comes with them. A feature brings it. */
export type CslValue =
  | string
  | number
  | boolean
  | readonly CslValue[]
  | { readonly [name: string]: CslValue };

/** One reference as CSL JSON. Its `id` is what the document cites. */
export interface CslReference {
  readonly id: string;
  readonly type: string;
  readonly [name: string]: CslValue;
}

/** The references that were found. */
export interface FoundReferences<T> {
  readonly references: readonly T[];
  /** Keys that the library does not have, as they were given. */
  readonly missing: readonly string[];
  /** What people should know, such as that the library is too large to search all of it. */
  readonly notes: readonly string[];
}

/**
 * A library of references, read only. A call has limits of time and size, and stops at once when the signal fires; it then
 * fails with the reason of the signal. If the library refuses access, it fails with `library_refused`; if it cannot be
 * reached, or asks to wait longer than the call may take, with `library_unreachable`. A key that does not exist is not a
 * failure: it is in `missing`.
 */
export interface ReferenceLibrary {
  /** In the order of the keys, which are keys of items or citation keys; an item wanted under two keys is there twice. */
  references(keys: readonly string[], signal: AbortSignal): Promise<FoundReferences<CslReference>>;
}
