import { WorkcrateError } from '../../../platform/errors.ts';
import {
  crateChangedError,
  crateGoneError,
  isSourceName,
  type OpenSourceObject,
  type Source,
  type SourceObject,
  type SourcePage,
} from '../../../ports/storage/source.ts';
import { isShortPath } from '../../../platform/zip/unzip.ts';
import type { CrateIssue, CrateLocation } from '../crate.ts';
import { getFolderPrefix } from './discover.ts';
import { collectMetadataBytes, createZipContainer } from './zip-container.ts';

/** One file of a crate. */
export interface CrateFile {
  /** Below the root of the crate: posix, relative, without `..`, backslash, drive or control characters. */
  readonly path: string;
  readonly size: number;
  readonly compressedSize: number;
  /** In milliseconds. */
  readonly modified: number | null;
  /** Why it cannot be read, or is not what it seems. */
  readonly problem: string | null;
  /** Its index in the directory of the archive, since several may have the same name; null if there is no archive. */
  readonly member: number | null;
}

export interface CrateFileReadOptions {
  /** A larger file is `too_large`. */
  readonly limit: number;
  readonly signal?: AbortSignal;
}

/** Where the bytes of a file are, uncompressed, in an object of the source. */
export interface StoredFileRange {
  readonly object: string;
  readonly stamp: string;
  readonly start: number;
  readonly end: number;
  /** Of these bytes, if an archive records it. */
  readonly crc32: number | null;
}

/** A crate that is open for reading, whatever its form. */
export interface CrateContainer extends AsyncDisposable {
  /** The path of its root in the archive: empty, or ending in `/`. */
  readonly root: string;
  /** Problems with how it is packed. */
  readonly issues: readonly CrateIssue[];
  /** How many entries have no safe path and are not listed, as far as `files` has come. */
  readonly unsafe: number;
  /** All files in their stored order; no folders, and nothing outside of the root. */
  files(signal?: AbortSignal): AsyncIterable<CrateFile>;
  /** By its exact path: neither case nor Unicode form is folded. */
  find(path: string, signal?: AbortSignal): Promise<CrateFile | null>;
  /** Whether there is a folder of this path, without a slash at its end, that `files` may have nothing of. */
  hasFolder(path: string, signal?: AbortSignal): Promise<boolean>;
  /**
   * The bytes of a file; the last are given only once all are verified. A chunk is valid only until the next one is
   * requested.
   */
  read(file: CrateFile, options: CrateFileReadOptions): AsyncIterable<Uint8Array>;
  /** Null if its bytes are compressed or cannot be read. */
  stored(file: CrateFile, signal?: AbortSignal): Promise<StoredFileRange | null>;
  /** The bytes of the metadata; `metadata_invalid` if there is none. */
  metadata(limit: number, signal?: AbortSignal): Promise<Uint8Array>;
}

/** A crate whose files are objects of the source: a folder of them, or metadata that describes files elsewhere. */
function createObjectContainer(
  source: Source,
  kind: 'folder' | 'detached',
  metadata: OpenSourceObject,
): CrateContainer {
  const { name, size } = metadata.object;
  const folder = getFolderPrefix(name);
  let unsafe = 0;

  async function* files(signal?: AbortSignal): AsyncGenerator<CrateFile> {
    unsafe = 0;
    if (kind === 'detached') return yield objectToCrateFile(metadata.object, folder);
    for await (const object of listObjectsBelow(source, folder, signal)) {
      const path = object.name.slice(folder.length);
      if (isHiddenPath(path)) continue;
      if (isSafeCratePath(path)) yield objectToCrateFile(object, folder);
      else unsafe++;
    }
  }

  async function find(path: string, signal?: AbortSignal): Promise<CrateFile | null> {
    const object = folder + path;
    if (!isSourceName(path) || isHiddenPath(path) || !isSafeCratePath(path)) return null;
    if (kind === 'detached' && object !== name) return null;
    const found = await source.stat(object, signal);
    return found && objectToCrateFile(found, folder);
  }

  async function* read(file: CrateFile, { limit, signal }: CrateFileReadOptions): AsyncGenerator<Uint8Array> {
    if (file.size > limit) throw crateFileTooLargeError(file, limit);
    const object = folder + file.path;
    await using open = await source.open(object, signal);
    if (open === null) throw crateGoneError(source.url, object);
    if (!isSameFileVersion(open.object, file)) throw crateChangedError(source.url, object);
    yield* open.read(0, open.size, signal);
  }

  async function stored(file: CrateFile, signal?: AbortSignal): Promise<StoredFileRange | null> {
    const found = await source.stat(folder + file.path, signal);
    if (found === null) throw crateGoneError(source.url, folder + file.path);
    if (!isSameFileVersion(found, file)) throw crateChangedError(source.url, found.name);
    return { object: found.name, stamp: found.stamp, start: 0, end: found.size, crc32: null };
  }

  return {
    root: '',
    issues: [],
    get unsafe() {
      return unsafe;
    },
    files,
    find,
    hasFolder: async (path, signal) =>
      kind === 'folder' &&
      isSafeCratePath(path) &&
      ((await source.hasFolder?.(folder + path, signal)) ?? false),
    read,
    stored,
    // Read from the open object, whose stamp was checked.
    metadata: (limit, signal) => collectMetadataBytes(size, limit, metadata.read(0, size, signal)),
    [Symbol.asyncDispose]: () => metadata[Symbol.asyncDispose](),
  };
}

async function* listObjectsBelow(
  source: Source,
  prefix: string,
  signal?: AbortSignal,
): AsyncGenerator<SourceObject> {
  for (let after: string | null | undefined; after !== null;) {
    const page: SourcePage = await source.list({
      prefix,
      ...(after === undefined ? {} : { after }),
      ...(signal === undefined ? {} : { signal }),
    });
    yield* page.objects;
    after = page.next;
  }
}

const objectToCrateFile = ({ name, size, modified }: SourceObject, folder: string): CrateFile => ({
  path: name.slice(folder.length),
  size,
  compressedSize: size,
  modified,
  problem: null,
  member: null,
});

const isSameFileVersion = (object: SourceObject, file: CrateFile): boolean =>
  object.size === file.size && object.modified === file.modified;

const isHiddenPath = (path: string): boolean => path.split('/').some((part) => part.startsWith('.'));

/** Rejects names that are not valid paths on other systems, or that contain control characters. */
const isSafeCratePath = (path: string): boolean =>
  // oxlint-disable-next-line no-control-regex
  isShortPath(path) && !/[\u0000-\u001f\u007f-\u009f\\]|^[a-z]:/i.test(path);

const crateFileTooLargeError = ({ path, size }: CrateFile, limit: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `${JSON.stringify(path)} has ${size} bytes, and the limit is ${limit}. Ask for a link to it instead.`,
  );

/** Opens a crate if it is unchanged since it was indexed: else `crate_changed`, or `crate_gone`. */
export async function openCrateContainer(
  source: Source,
  place: CrateLocation,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<CrateContainer> {
  const object = await source.open(place.object, signal);
  if (object === null) throw crateGoneError(source.url, place.object);
  try {
    if (object.object.stamp !== place.stamp) throw crateChangedError(source.url, place.object);
    return await openContainerOfKind(source, place, object, signal);
  } catch (error) {
    await object[Symbol.asyncDispose]();
    throw error;
  }
}

const openContainerOfKind = async (
  source: Source,
  place: CrateLocation,
  object: OpenSourceObject,
  signal: AbortSignal | undefined,
): Promise<CrateContainer> =>
  place.kind === 'zip'
    ? createZipContainer(source, object, signal)
    : createObjectContainer(source, place.kind, object);
