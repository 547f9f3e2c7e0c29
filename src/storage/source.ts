import type { OpenObject, PresignedUrl } from './storage.ts';

export { crateChanged, crateGone, sourceUnreachable } from './source-failures.ts';
export { checkNewName, exactly, isOwnName, isSourceName, ownMark } from './source-names.ts';

/** An object that belongs to others: it may change or vanish at any time. */
export interface SourceObject {
  /**
   * Below the source, as its owner wrote it, with `/` between parts. Any text: only what has an empty, `.` or `..`
   * part, a NUL or no UTF-8 is left out of listings and counted.
   */
  readonly name: string;
  readonly size: number;
  /** In milliseconds. */
  readonly modified: number;
  /** Changes whenever the bytes do: the store's ETag; of a file, its size, times and inode. */
  readonly stamp: string;
}

export interface SourcePage {
  readonly objects: readonly SourceObject[];
  /** Names that cannot be told safely; in a folder also links, what is no file, and folders that may not be read. */
  readonly passedOver: number;
  /** Pass as `after` for the next page; null at the end. Opaque. */
  readonly next: string | null;
}

/** Held open. Reading rejects with `crate_changed` or `crate_gone` once it is no longer what was opened: never wrong bytes. */
export interface OpenSourceObject extends OpenObject {
  readonly object: SourceObject;
}

/**
 * Objects of others under their own names: a folder tree, a prefix of a bucket, a container. Nothing is written to it
 * but by `put`, and nothing removed but what that has made.
 *
 * Failures are WorkcrateErrors: `source_unreachable` with the reason (down, slow, wrong credentials, no such bucket
 * or folder), `crate_changed`, `crate_gone`. Absence is null.
 */
export interface Source {
  readonly kind: 'folder' | 's3' | 'azure';
  /** Without credentials, ending in `/`: `file:///data/crates/`, `s3://bucket/prefix/`, `azure://container/prefix/`. */
  readonly url: string;
  /** The URL by which crate ids and links know it, where that is another one: a folder may have been moved. */
  readonly knownAs?: string;

  /**
   * Everything whose name begins with `prefix`, ordered by name within a folder at least, so that a name comes before
   * all that begin with it. At most 1,000 a page, which may be empty although there is a next. Left out is what `put`
   * has not finished, and on disk what stands in a hidden folder.
   */
  list(options?: { prefix?: string; after?: string; signal?: AbortSignal }): Promise<SourcePage>;

  /** Null for what is not there, and for a name that no listing tells. */
  stat(name: string, signal?: AbortSignal): Promise<SourceObject | null>;

  open(name: string, signal?: AbortSignal): Promise<OpenSourceObject | null>;

  /** A URL for a GET without this server between; null where there is no such thing. */
  presign(
    name: string,
    expiresAt: number,
    response: { contentType: string; contentDisposition: string },
  ): Promise<PresignedUrl | null>;

  /**
   * Writes a new object, whole or not at all, durable when it resolves; other than `size` bytes are `size_mismatch`. A
   * name that exists is `already_exists`, one that no listing would tell `invalid_input`. A store that is full or may
   * not be written to is told as by Storage: `storage_full`, `storage_read_only`.
   */
  put(
    name: string,
    size: number,
    bytes: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<SourceObject>;

  /** Takes back what `put` has made, unless it is another object by now. What is not there is no error. */
  remove(made: SourceObject): Promise<void>;

  close(): Promise<void>;
}

/** How ids and links name a source, wherever it is by now. */
export const lastingName = ({ knownAs, url }: Pick<Source, 'knownAs' | 'url'>): string => knownAs ?? url;
