import type { CrateIssue } from '../crate.ts';

/** One file of a crate. */
export interface CrateFile {
  /** Below the root of the crate: posix, relative, without `..`, backslash, drive or control characters. */
  readonly path: string;
  readonly size: number;
  readonly compressedSize: number;
  /** In milliseconds. */
  readonly modified: number | null;
  /** Why it cannot be had, or is not what it seems. */
  readonly problem: string | null;
  /** Its place in the directory of the archive, since several may have one name; null where there is no archive. */
  readonly member: number | null;
}

export interface ReadingFile {
  /** A larger file is `too_large`. */
  readonly limit: number;
  readonly signal?: AbortSignal;
}

/** Where the bytes of a file stand as they are, in an object of the source. */
export interface StoredFile {
  readonly object: string;
  readonly stamp: string;
  readonly start: number;
  readonly end: number;
  /** Of these bytes, where an archive says it. */
  readonly crc32: number | null;
}

/** A crate that is held open, whatever form it has. */
export interface CrateContainer extends AsyncDisposable {
  /** Where in the archive its root is: empty, or ending in `/`. */
  readonly root: string;
  /** What is odd about how it is packed. */
  readonly issues: readonly CrateIssue[];
  /** Entries that have no safe path, as far as `files` has come at least. They are not listed. */
  readonly unsafe: number;
  /** All files in the order in which they stand there; no folders, and nothing outside of the root. */
  files(signal?: AbortSignal): AsyncIterable<CrateFile>;
  /** By its exact path: neither case nor Unicode form is folded. */
  find(path: string, signal?: AbortSignal): Promise<CrateFile | null>;
  /**
   * The bytes of a file, of which the last are given only once all have proved right. A chunk is good only until the
   * next one is asked for.
   */
  read(file: CrateFile, options: ReadingFile): AsyncIterable<Uint8Array>;
  /** Null where its bytes are compressed, or cannot be had. */
  stored(file: CrateFile, signal?: AbortSignal): Promise<StoredFile | null>;
  /** The bytes of the metadata; `metadata_invalid` where there is none. */
  metadata(limit: number, signal?: AbortSignal): Promise<Uint8Array>;
}
