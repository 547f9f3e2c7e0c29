import { crc32 as computeCrc32 } from 'node:zlib';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { Database, SqlValue } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import {
  fileFromRow,
  joinFileSql,
  linkedFileSql,
  readLinkedFile,
  type Files,
  type LinkedFile,
  type StoredFile,
} from '../files/files.ts';
import type { OpenObject, PresignedUrl } from '../../ports/storage/storage.ts';
import type { BodySegment } from '../../platform/transfer/transfer.ts';
import { createZipLayout, type ZipEntry } from '../../platform/zip/zip.ts';
import { bytesGoneError, linkFromRow, type Link, type LinksOptions } from './link.ts';

/** What a link points at: its description, and how to open its bytes. */
export interface Download {
  readonly filename: string;
  readonly mediaType: string;
  readonly size: number;
  /** Null where all bytes would have to be read to know it. */
  readonly sha256: string | null;
  /** Used instead of the sha256: any text that changes whenever the bytes do. */
  readonly version?: string;
  readonly modified: number;
  /** The one object that contains all of it; null where there is none, as for a ZIP. */
  readonly storageKey: string | null;
  /**
   * A presigned URL for all of it at a store of somebody else, for a GET that bypasses this server; null where there is
   * none.
   */
  presign?(
    expiresAt: number,
    response: { contentType: string; contentDisposition: string },
  ): Promise<PresignedUrl | null>;
  /**
   * Rejects with `bytes_gone` where the store no longer has the bytes, without reading them. Absent where finding the
   * download was such a check.
   */
  demandStored?(): Promise<void>;
  /** Opens the bytes until `close` is called; `bytes_gone` where they are no longer there. */
  open(): Promise<OpenDownload>;
}

export interface OpenDownload {
  /** The bytes from `start` to before `end`. */
  segments(start: number, end: number): Iterable<BodySegment> | AsyncIterable<BodySegment>;
  close(): PromiseLike<void>;
}

/** The bytes of segments, for readers that need them here. */
export async function* readSegments(
  segments: Iterable<BodySegment> | AsyncIterable<BodySegment>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  for await (const segment of segments)
    if ('bytes' in segment) yield segment.bytes;
    else yield* segment.object.read(segment.start, segment.end, signal);
}

export function toFileDownload(files: Files, file: LinkedFile): Download {
  return {
    filename: file.name,
    mediaType: file.mediaType,
    size: file.size,
    sha256: file.sha256,
    modified: file.createdAt,
    storageKey: file.storageKey,
    demandStored: () => checkAllStored(files, [file]),
    async open() {
      const object = await openWhole(files, file);
      return {
        segments: (start, end) => (start < end ? [{ object, start, end }] : []),
        close: () => object[Symbol.asyncDispose](),
      };
    },
  };
}

const maxLooksAtOnce = 16;
const maxFilesLookedAt = 200;

/** Of many files only the first are checked: each check is a request where the store is not a disk. */
async function checkAllStored(
  files: Files,
  all: readonly Pick<StoredFile, 'storageKey' | 'size'>[],
): Promise<void> {
  for (let from = 0; from < Math.min(all.length, maxFilesLookedAt); from += maxLooksAtOnce) {
    const are = await Promise.all(all.slice(from, from + maxLooksAtOnce).map((file) => files.isStored(file)));
    if (are.includes(false)) throw bytesGoneError();
  }
}

/** A file that has lost bytes on disk must not be sent as if it were whole. */
async function openWhole(files: Files, file: Pick<StoredFile, 'storageKey' | 'size'>) {
  const object = await files.open(file);
  if (object?.size === file.size) return object;
  await object?.[Symbol.asyncDispose]();
  throw bytesGoneError();
}

/** A range of an object in a store of somebody else, and its description. */
export interface ObjectStretch extends Pick<
  Download,
  'filename' | 'mediaType' | 'sha256' | 'version' | 'modified' | 'presign'
> {
  /** From `start` to before `end` in the object. */
  readonly start: number;
  readonly end: number;
  /** Of the whole stretch; null where it is not known. */
  readonly crc32: number | null;
  /** Opens the object; `bytes_gone` where it is no longer there, or no longer what was described. */
  object(): Promise<OpenObject>;
}

/**
 * A client that downloads all of it gets the last chunk only once the CRC agrees; otherwise the connection breaks, so
 * that damaged bytes never look complete. Ranges are sent unchecked.
 */
export function toObjectDownload({ start, end, crc32, object: open, ...described }: ObjectStretch): Download {
  const size = end - start;
  return {
    ...described,
    size,
    storageKey: null,
    async open() {
      if (size === 0 && crc32 !== null && crc32 !== 0) throw archiveDamagedError();
      const object = await openUpTo(open, end);
      const whole = crc32 === null ? object : checkCrcWhileReading(object, crc32);
      return {
        segments: (from, to) =>
          from < to
            ? [{ object: to - from === size ? whole : object, start: start + from, end: start + to }]
            : [],
        close: () => object[Symbol.asyncDispose](),
      };
    },
  };
}

async function openUpTo(open: () => Promise<OpenObject>, end: number): Promise<OpenObject> {
  const object = await open();
  if (object.size >= end) return object;
  await object[Symbol.asyncDispose]();
  throw bytesGoneError();
}

/** Checks the CRC of every range that is read. The bytes must be seen for that, so they are no range of a file. */
function checkCrcWhileReading(object: OpenObject, expected: number): OpenObject {
  return {
    size: object.size,
    descriptor: null,
    async *read(start, end, signal) {
      let [crc, left] = [0, end - start];
      for await (const chunk of object.read(start, end, signal)) {
        crc = computeCrc32(chunk, crc);
        left -= chunk.length;
        if (left <= 0 && crc !== expected) throw archiveDamagedError();
        yield chunk;
      }
    },
    [Symbol.asyncDispose]: () => object[Symbol.asyncDispose](),
  };
}

export function archiveDamagedError(): WorkcrateError {
  return new WorkcrateError(
    'zip_damaged',
    'The file in the archive is damaged: its CRC-32 does not match. Copy the archive to its source again.',
  );
}

interface BundledFile extends ZipEntry {
  readonly storageKey: string;
}

/** The files of a bundle as a ZIP that is never stored: its layout follows from names, sizes and CRCs. */
export function toZipDownload(
  files: Files,
  bundle: { name: string; sha256: string; createdAt: number },
  entries: readonly BundledFile[],
): Download {
  const layout = createZipLayout(entries);
  /** Files are opened one at a time, however many there are. */
  async function* segments(start: number, end: number): AsyncGenerator<BodySegment> {
    for (const part of layout.parts(start, end)) {
      if ('bytes' in part) yield part;
      else {
        await using object = await openWhole(files, entries[part.entry]!);
        yield { object, start: part.start, end: part.end };
      }
    }
  }
  return {
    filename: bundle.name,
    mediaType: 'application/zip',
    size: layout.size,
    sha256: bundle.sha256,
    modified: bundle.createdAt,
    storageKey: null,
    demandStored: () => checkAllStored(files, entries),
    open: async () => ({ segments, close: async () => {} }),
  };
}

/** A bundle as it was recorded with its link; a file that is gone since then is `bytes_gone`. */
async function findBundleDownload(database: Database, files: Files, id: string): Promise<Download> {
  const [bundle] = await database.query<{ name: string; sha256: string; created_at: number }>(
    'SELECT name, sha256, created_at FROM bundles WHERE id = ?',
    id,
  );
  if (!bundle) throw bytesGoneError();
  const described = { name: bundle.name, sha256: bundle.sha256, createdAt: bundle.created_at };
  return toZipDownload(files, described, await listBundledFiles(database, id));
}

async function listBundledFiles(database: Database, id: string): Promise<BundledFile[]> {
  const rows = await database.query(
    `SELECT bundle_files.entry_name, files.* FROM bundle_files ${joinFileSql('bundle_files.file_id')}
     WHERE bundle_files.bundle_id = ? ORDER BY bundle_files.position`,
    id,
  );
  return rows.map((row) => {
    if (row['id'] === null) throw bytesGoneError();
    return toBundledFile(row['entry_name'] as string, fileFromRow(row));
  });
}

export function toBundledFile(name: string, file: StoredFile): BundledFile {
  const { size, crc32, createdAt: modified, storageKey } = file;
  return { name, size, crc32, modified, storageKey };
}

/** A link, and how to find what it points at. */
export interface FoundLink {
  readonly link: Link;
  /** Rejects with `bytes_gone` where the link has outlived what it points at. */
  download(): Promise<Download>;
}

interface LookupOptions {
  readonly database: Database;
  readonly files: Files;
  readonly externalTargets?: LinksOptions['externalTargets'];
}

const joinFile = joinFileSql('links.file_id');

/** One query for link and file together, since nearly every download makes it. */
export async function findLink(
  { database, files, externalTargets }: LookupOptions,
  where: string,
  ...values: SqlValue[]
): Promise<FoundLink | null> {
  const [row] = await database.query(
    `SELECT links.*, ${linkedFileSql} FROM links ${joinFile} WHERE ${where}`,
    ...values,
  );
  if (!row) return null;
  const link = linkFromRow(row);
  if (link.bundleId !== null) {
    const { bundleId } = link;
    return { link, download: () => findBundleDownload(database, files, bundleId) };
  }
  if (link.target !== null) {
    const { target } = link;
    const renew = (renewed: string): Promise<unknown> =>
      database.query('UPDATE links SET target = ? WHERE target = ?', renewed, target);
    return {
      link,
      download: async () => externalTargets?.download(target, renew) ?? Promise.reject(bytesGoneError()),
    };
  }
  const file = readLinkedFile(row);
  const download = file === null ? null : toFileDownload(files, file);
  return { link, download: async () => download ?? Promise.reject(bytesGoneError()) };
}

const maxRememberedLinks = 1000;

/**
 * Finds links by the hash of their token, and caches them while the version of the database stays the same: many requests
 * for one link, such as the ranges of a film, then cost one query. Without a version nothing is cached.
 */
export function createLinkLookup(
  rooms: LookupOptions & Pick<LinksOptions, 'lookups'>,
): (tokenHash: string) => Promise<FoundLink | null> {
  const { lookups = { hits: 0, misses: 0 } } = rooms;
  const known = new BoundedMap<string, FoundLink>({ mostEntries: maxRememberedLinks, whenFull: 'clear' });
  let knownAt: number | null = null;
  return async (tokenHash) => {
    const version = rooms.database.version();
    if (version !== knownAt) known.clear();
    knownAt = version;
    const remembered = known.get(tokenHash);
    lookups[remembered ? 'hits' : 'misses']++;
    if (remembered) return remembered;
    const found = await findLink(rooms, 'token_hash = ?', tokenHash);
    if (found && version !== null && rooms.database.version() === version) known.set(tokenHash, found);
    return found;
  };
}
