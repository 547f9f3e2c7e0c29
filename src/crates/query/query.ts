/** Something that a document has to hold, or had better hold. `field` is the number of a text field, or null for any. */
export type Clause =
  | { readonly kind: 'word'; readonly stem: string; readonly field: number | null }
  | { readonly kind: 'phrase'; readonly stems: readonly string[]; readonly field: number | null }
  | { readonly kind: 'prefix'; readonly prefix: string; readonly field: number | null };

/** A facet, by its number, has to fit. */
export interface Filter {
  readonly facet: number;
  readonly wanted: string;
  /** It must not fit. */
  readonly negated: boolean;
}

/** The crate has to hold an entity of the type from which the path leads to the value. */
export interface EntityCondition {
  /** `*` for any. */
  readonly type: string;
  readonly path: readonly string[];
  readonly value: string;
  readonly exact: boolean;
  /** There must be none. */
  readonly negated: boolean;
}

/** What was asked for, understood. */
export interface Query {
  /** Documents with all of them come first. */
  readonly wanted: readonly Clause[];
  readonly required: readonly Clause[];
  readonly excluded: readonly Clause[];
  readonly filters: readonly Filter[];
  readonly entities: readonly EntityCondition[];
  /** What was asked for in words, without fields and filters: for the search by meaning. */
  readonly text: string;
  /** What was understood otherwise than it may have been meant. */
  readonly notes: readonly string[];
}
