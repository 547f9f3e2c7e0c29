/**
 * The types that all folders of this room share: path, file, entry, listing, and the methods by which a file can come.
 * `rung` is the name of the method in JSON, in the audit log and in records. Nothing here does anything.
 */

/** The methods of getting a file from the client, from the best to the last. */
export const transferMethods = ['direct', 'upload', 'url', 'form', 'sampling'] as const;

export type TransferMethod = (typeof transferMethods)[number];

/** How a file came: by a method, or the client gave it by itself. */
export const arrivalMethods = [...transferMethods, 'given'] as const;

export type ArrivalMethod = (typeof arrivalMethods)[number];

/** A path on the client's side that was checked: below the project, with `/` between its names. */
export interface ClientPath {
  /** From the project's folder: `docs/a.md`; empty for the folder itself. */
  readonly relative: string;
  /** Where the project's folder is known. */
  readonly absolute: string | null;
}

/** A file of the client's, as it came. */
export interface ClientFile {
  /** From the project's folder. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Milliseconds since 1970; null if unknown. */
  readonly mtime: number | null;
  readonly sha256: string;
  readonly rung: ArrivalMethod;
}

export interface ClientEntry {
  /** From the project's folder. */
  readonly path: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  /** Null if it is not a file, or if the size is unknown. */
  readonly size: number | null;
  readonly mtime: number | null;
}

export interface ClientListing {
  /** The folder that was asked for. */
  readonly path: string;
  readonly entries: readonly ClientEntry[];
  /** How many were left out since they may not be seen. */
  readonly hidden: number;
  /** Whether there were more than are given. */
  readonly cut: boolean;
  readonly rung: TransferMethod;
  /** The folder on this machine, where the server listed it itself. */
  readonly localPath: string | null;
}
