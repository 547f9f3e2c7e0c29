/**
 * The port for objects that belong to others, such as crates in a bucket, with its errors and its rules for names. It
 * keeps nothing of its own (`storage.ts` does), and the source that is a local folder is in `features/crates/sources/`.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { OpenObject, PresignedUrl } from './storage.ts';

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
  /** How many were left out: unsafe names; in a folder also links, special files and folders that may not be read. */
  readonly passedOver: number;
  /** Pass as `after` for the next page; null at the end. Opaque. */
  readonly next: string | null;
}

/** An open object. Reading rejects with `crate_changed` or `crate_gone` once it is no longer what was opened: never wrong bytes. */
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
   * has not finished, and on disk what is in a hidden folder.
   */
  list(options?: { prefix?: string; after?: string; signal?: AbortSignal }): Promise<SourcePage>;

  /** Null for what does not exist, and for a name that no listing has. */
  stat(name: string, signal?: AbortSignal): Promise<SourceObject | null>;

  open(name: string, signal?: AbortSignal): Promise<OpenSourceObject | null>;

  /** Whether there is a folder of this name. Only where there can be one without objects, as on a disk. */
  hasFolder?(name: string, signal?: AbortSignal): Promise<boolean>;

  /** A URL for a GET without this server in between; null if there is no such thing. */
  presign(
    name: string,
    expiresAt: number,
    response: { contentType: string; contentDisposition: string },
  ): Promise<PresignedUrl | null>;

  /**
   * Writes a new object, whole or not at all, durable when it resolves; other than `size` bytes are `size_mismatch`. A
   * name that exists is `already_exists`, one that no listing would have `invalid_input`. A store that is full or
   * read-only has the errors of Storage: `storage_full`, `storage_read_only`.
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

/** The URL by which ids and links name a source, wherever it is now. */
export const getKnownUrl = ({ knownAs, url }: Pick<Source, 'knownAs' | 'url'>): string => knownAs ?? url;

/** The beginning of a name that `put` has not finished, in one of its parts. It is not listed. */
export const ownNameMark = '.workcrate-';

export const isOwnName = (name: string): boolean =>
  name.split('/').some((part) => part.startsWith(ownNameMark));

/** Whether a name means one object only, here and on every way to it. */
export const isSourceName = (name: string): boolean =>
  name.isWellFormed() &&
  !name.includes('\0') &&
  name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/** What a store says of an object; null for a name that cannot be read. */
export type ListedSourceObject = Omit<SourceObject, 'name'> & { readonly name: string | null };

/** The objects of a store's page that are below a prefix, named relative to it. Folder markers are no objects. */
export function toSourcePage(
  prefix: string,
  listed: readonly ListedSourceObject[],
): Omit<SourcePage, 'next'> {
  const objects: SourceObject[] = [];
  let passedOver = 0;
  for (const one of listed) {
    const name = one.name?.startsWith(prefix) ? one.name.slice(prefix.length) : null;
    if (name === '' || name?.endsWith('/') || (name !== null && isOwnName(name))) continue;
    if (name !== null && isSourceName(name) && isListable(one)) objects.push({ ...one, name });
    else passedOver++;
  }
  return { objects, passedOver };
}

const isListable = ({ size, stamp }: ListedSourceObject): boolean =>
  Number.isSafeInteger(size) && size >= 0 && stamp !== '';

/** Refuses a new name that could not be found again; stores take names of up to 1,024 bytes. */
export function checkNewName(name: string, prefix = ''): void {
  if (isSourceName(name) && !isOwnName(name) && Buffer.byteLength(prefix + name) <= 1024) return;
  throw new WorkcrateError('invalid_input', `${JSON.stringify(name)} cannot be the name of an object.`);
}

/** Passes on exactly `size` bytes, and rejects if there are fewer or more. */
export async function* checkExactSize(
  bytes: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array> {
  let left = size;
  for await (const chunk of bytes) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new WorkcrateError('size_mismatch', `Not the announced ${size} bytes arrived.`);
}

/** Headers have an ETag in quotes, listings not always; a proxy may have made it a weak one. */
export const unquoteEtag = (etag: string): string => etag.replaceAll(/^(?:W\/)?"|"$/g, '');

/** The stamp of an object, from the answer of a store. Without an ETag, it was not the store that answered. */
export function toStamp(etag: string): string {
  if (unquoteEtag(etag) !== '') return unquoteEtag(etag);
  throw new WorkcrateError(
    'storage_failed',
    'The store listed an object without an ETag. Check its address, and any proxy in between.',
  );
}

export const quoteStamp = (stamp: string): string => `"${stamp}"`;

export const sourceUnreachableError = (url: string, reason: string, cause?: unknown): WorkcrateError =>
  new WorkcrateError('source_unreachable', `The source ${url} cannot be used. ${reason}`, { cause });

export const crateChangedError = (url: string, name: string): WorkcrateError =>
  new WorkcrateError(
    'crate_changed',
    `${JSON.stringify(name)} in ${url} has changed since it was looked at. Bring the index up to date, then try again.`,
  );

export const crateGoneError = (url: string, name: string): WorkcrateError =>
  new WorkcrateError(
    'crate_gone',
    `${JSON.stringify(name)} is not in ${url} any more. Bring the index up to date, and search again.`,
  );

/** Turns errors of a store into errors of the source in it; a writer also sees that the store is full or read-only. */
export interface SourceErrorMapper {
  <T>(work: () => Promise<T>): Promise<T>;
  writing<T>(work: () => Promise<T>): Promise<T>;
  each<T>(steps: AsyncIterable<T>): AsyncGenerator<T>;
}

export function createSourceErrors(url: string): SourceErrorMapper {
  const toSourceError = (error: unknown, ...asItIs: string[]): unknown =>
    error instanceof WorkcrateError && error.code.startsWith('storage_') && !asItIs.includes(error.code)
      ? sourceUnreachableError(url, error.message, error.cause)
      : error;
  const mapErrors = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw toSourceError(error);
    }
  };
  const writing = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw toSourceError(error, 'storage_full', 'storage_read_only');
    }
  };
  async function* each<T>(steps: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* steps;
    } catch (error) {
      throw toSourceError(error);
    }
  }
  return Object.assign(mapErrors, { writing, each });
}
