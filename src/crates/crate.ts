/**
 * The types of a crate that all folders of this room share: where it is, what its metadata says, and what the index
 * takes. There is no code here; `metadata/` makes these values, `sync/` and `index/` pass them on.
 */
import type { ErrorCode } from '../errors.ts';

/** What stands where: an archive, a folder with its metadata in it, or metadata alone. */
export type CrateKind = 'zip' | 'folder' | 'detached';

/** Where a crate was found, and what it was when it was read. */
export interface CrateLocation {
  /** `crate_` and 24 hex digits, the same for the same source and object. */
  readonly crateId: string;
  /** The URL of the source. */
  readonly source: string;
  readonly kind: CrateKind;
  /** The name in the source of the archive, or of the metadata file. */
  readonly object: string;
  /** The whole address, for people: that of the archive, or of the folder, ending in `/`. */
  readonly locator: string;
  /** Who alone may see it; null for everybody. */
  readonly owner: string | null;
  readonly stamp: string;
  readonly size: number;
  readonly modified: number;
}

/** What is odd about a crate. It is indexed all the same. */
export interface CrateIssue {
  /** Stable, such as `root_without_name`. */
  readonly code: string;
  readonly message: string;
  /** How often, where more than once. */
  readonly count: number;
}

/** A property of an entity: some text, or another entity of the same crate by its place in the list. */
export type EntityProperty =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly target: number };

export interface Entity {
  readonly id: string;
  /** Short names: `Person`, and not the IRI. */
  readonly types: readonly string[];
  readonly properties: readonly EntityProperty[];
}

/** What the metadata of a crate says, whatever form it says it in. */
export interface CrateMetadata {
  /** Never empty. */
  readonly title: string;
  readonly description: string;
  readonly authors: readonly string[];
  readonly keywords: readonly string[];
  readonly license: { readonly id: string | null; readonly name: string | null } | null;
  /** ISO 8601, as exact as it was given: a year, a day or a time; null where there is none that can be read. */
  readonly published: string | null;
  readonly year: number | null;
  readonly identifiers: readonly string[];
  /** Version of RO-Crate, such as `1.1`; null where none is stated. */
  readonly spec: string | null;
  /** IRIs of the profiles that the root says it conforms to. */
  readonly profiles: readonly string[];
  readonly rootId: string;
  /** Every entity but the descriptor. */
  readonly entities: readonly Entity[];
  readonly issues: readonly CrateIssue[];
}

/** A crate as it is to be put into the index. */
export interface ReadCrate {
  readonly place: CrateLocation;
  /** Where in the archive its root is: empty, or a path that ends in `/`. */
  readonly root: string;
  readonly metadata: CrateMetadata;
  /** Paths of what it holds, below its root. */
  readonly files: readonly string[];
  /** How many files there are and their bytes, where that is known without reading them. */
  readonly fileCount: number;
  readonly bytes: number | null;
}

/** Something that looks like a crate and cannot be read. It is remembered, so that it is not tried again until it changes. */
export interface BrokenCrate {
  readonly place: CrateLocation;
  readonly code: ErrorCode;
  readonly reason: string;
}
