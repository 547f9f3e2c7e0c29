/**
 * The types of a crate that all folders of this room share: where it is, what its metadata says, and what the index
 * takes. There is no code here; `metadata/` makes these values, `sync/` and `index/` pass them on.
 */
import type { ErrorCode } from '../../platform/errors.ts';

/** The form of a crate: an archive, a folder with metadata in it, or metadata alone. */
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
  /** The only user who may see it; null for everybody. */
  readonly owner: string | null;
  readonly stamp: string;
  readonly size: number;
  readonly modified: number;
}

/** A problem with the metadata of a crate. The crate is indexed nevertheless. */
export interface CrateIssue {
  /** Stable, such as `root_without_name`. */
  readonly code: string;
  readonly message: string;
  /** How often it occurs. */
  readonly count: number;
}

/** A property of an entity: some text, or another entity of the same crate by its index in the list. */
export type EntityProperty =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly target: number };

export interface Entity {
  readonly id: string;
  /** Short names: `Person`, and not the IRI. */
  readonly types: readonly string[];
  readonly properties: readonly EntityProperty[];
}

/** What the metadata of a crate says, in one normalized form. */
export interface CrateMetadata {
  /** Never empty. */
  readonly title: string;
  readonly description: string;
  readonly authors: readonly string[];
  readonly keywords: readonly string[];
  readonly license: { readonly id: string | null; readonly name: string | null } | null;
  /** ISO 8601, as exact as it was given: a year, a day or a time; null if there is no readable one. */
  readonly published: string | null;
  readonly year: number | null;
  readonly identifiers: readonly string[];
  /** Version of RO-Crate, such as `1.1`; null if none is stated. */
  readonly spec: string | null;
  /** IRIs of the profiles that the root says it conforms to. */
  readonly profiles: readonly string[];
  readonly rootId: string;
  /** Every entity but the descriptor. */
  readonly entities: readonly Entity[];
  readonly issues: readonly CrateIssue[];
}

/** A crate as it goes into the index. */
export interface ReadCrate {
  readonly place: CrateLocation;
  /** The path of its root in the archive: empty, or ending in `/`. */
  readonly root: string;
  readonly metadata: CrateMetadata;
  /** Paths of its files, below its root. */
  readonly files: readonly string[];
  /** How many files there are, and their bytes if that is known without reading them. */
  readonly fileCount: number;
  readonly bytes: number | null;
}

/** Something that looks like a crate but cannot be read. It is stored, so that it is not tried again until it changes. */
export interface BrokenCrate {
  readonly place: CrateLocation;
  readonly code: ErrorCode;
  readonly reason: string;
}
