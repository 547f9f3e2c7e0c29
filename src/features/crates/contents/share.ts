import { createHash } from 'node:crypto';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { cleanFilename } from '../../../platform/text/filenames.ts';
import { computeDigest, guessMediaType, type Files } from '../../../core/files/files.ts';
import type { Caller } from '../../../core/identity.ts';
import type { Links, LinkTerms, SharedLink } from '../../../core/links/links.ts';
import {
  crateChangedError,
  crateGoneError,
  getKnownUrl,
  type Source,
} from '../../../ports/storage/source.ts';
import { collectBytes } from '../../../platform/streams.ts';
import { createZipLayout } from '../../../platform/zip/zip.ts';
import type { CrateLocation } from '../crate.ts';
import { createArchive, type ArchiveMember } from './archive.ts';
import type { CrateContainer, CrateFile } from '../sources/sources.ts';
import type { ExternalCrateTarget, FindSource } from './copies.ts';

type OpenCrateById = (caller: Caller, crateId: string, signal: AbortSignal) => Promise<OpenCrate>;

/** Hands out crates and what is in them, by link or, where they are small, as bytes. */
export function createCrateSharing(options: CrateContentsOptions, open: OpenCrateById) {
  const digestRange = createRangeChecksum();
  return {
    /**
     * A link to one file. Uncompressed bytes are served straight from the source, by any range. Compressed ones are
     * unpacked once, and stored as a file of the caller for as long as the link is valid.
     */
    async linkFile(
      caller: Caller,
      crateId: string,
      path: string,
      terms: LinkTerms,
      signal: AbortSignal,
    ): Promise<SharedLink<string | null>> {
      const { place, source, container } = await open(caller, crateId, signal);
      await using _held = container;
      const file = await requireCrateFile(container, path);
      const name = path.slice(path.lastIndexOf('/') + 1);
      const stored = await container.stored(file, signal);
      if (stored !== null) {
        const sha256 = await digestRange(source, stored, signal);
        const described = { filename: name, mediaType: guessMediaType(name), sha256 };
        const modified = file.modified ?? place.modified;
        const reference: ExternalCrateTarget = {
          source: getKnownUrl(source),
          ...stored,
          ...described,
          modified,
        };
        return await options.links.shareExternalTarget(caller, JSON.stringify(reference), terms);
      }
      const limit = options.files.maxFileSize;
      if (file.size > limit) throw unpackedTooLargeError(path, file.size, limit);
      const kept = { name, origin: 'crate', keepSeconds: terms.ttlSeconds };
      const bytes = container.read(file, { limit, signal });
      const { id } = await options.files.add(caller, kept, bytes, signal);
      return await options.links.share(caller, id, terms);
    },

    /** A link to the whole crate: to the archive itself, or to one that is made of its folder. */
    async download(
      caller: Caller,
      crateId: string,
      terms: LinkTerms,
      watching: ArchiveProgress,
      /** If it is known already, as for a crate that was just packed. */
      sha256: string | null = null,
    ) {
      const { place, source, container } = await open(caller, crateId, watching.signal);
      await using _held = container;
      const wanted = { caller, place, source, container, terms, sha256 };
      const shared = await shareWholeCrate({ ...options, digestRange }, wanted, watching);
      return { locator: place.locator, shared };
    },

    /** The whole crate as bytes, up to the limit; a folder as a ZIP. */
    async bytes(caller: Caller, crateId: string, signal: AbortSignal) {
      const { place, source, container } = await open(caller, crateId, signal);
      await using _held = container;
      const { mostBytes } = options;
      const collect = (bytes: AsyncIterable<Uint8Array>): Promise<Buffer> =>
        collectBytes(bytes, { limit: mostBytes, tooLong: () => base64TooLargeError(null, mostBytes) });
      if (place.kind === 'folder') {
        const tooLarge = (): WorkcrateError => base64TooLargeError(null, mostBytes);
        const listed = await listFilesToZip(container, mostBytes, tooLarge, signal);
        const size = computeZipSize(listed);
        if (size > mostBytes) throw base64TooLargeError(size, mostBytes);
        const archive = createArchive(
          await digestFiles({ place, container }, listed, { signal, report: () => {} }),
        );
        return { locator: place.locator, bytes: await collect(archive.bytes(signal, () => {})) };
      }
      await using object = await source.open(place.object, signal);
      if (object === null || object.object.stamp !== place.stamp) throw changedSinceIndexedError(place);
      if (object.size > mostBytes) throw base64TooLargeError(object.size, mostBytes);
      return { locator: place.locator, bytes: await collect(object.read(0, object.size, signal)) };
    },
  };
}

const unpackedTooLargeError = (path: string, size: number, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `${JSON.stringify(path.slice(0, 200))} has ${size} bytes unpacked, and the limit is ${most}. Get the whole crate with download_crate.`,
  );

const base64TooLargeError = (size: number | null, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The crate has ${size ?? `more than ${most}`} bytes, and the limit for base64 is ${most}. Use download_crate with delivery "link" instead.`,
  );

const changedSinceIndexedError = ({ locator }: CrateLocation): WorkcrateError =>
  new WorkcrateError(
    'crate_changed',
    `${locator} has changed since it was indexed. Run sync_index, then try again.`,
  );

export interface ArchiveProgress {
  readonly signal: AbortSignal;
  report(done: number, total: number | null): void;
}

interface ShareRequest {
  readonly caller: Caller;
  readonly place: CrateLocation;
  readonly source: Source;
  readonly container: CrateContainer;
  readonly terms: LinkTerms;
  readonly sha256: string | null;
}

/** An archive, or metadata alone, is linked to directly. A folder is first packed into a file of the caller. */
async function shareWholeCrate(
  options: CrateContentsOptions & { readonly digestRange: ComputeRangeChecksum },
  wanted: ShareRequest,
  watching: ArchiveProgress,
): Promise<SharedLink<string | null>> {
  const { caller, place, terms } = wanted;
  if (place.kind === 'folder') return shareFolderAsZip(options, wanted, watching);
  const { object, stamp, size: end, modified } = place;
  const source = getKnownUrl(wanted.source);
  const range = { object, stamp, start: 0, end };
  const sha256 = wanted.sha256 ?? (await options.digestRange(wanted.source, range, watching.signal));
  const filename = cleanFilename(object.slice(object.lastIndexOf('/') + 1));
  const described = { filename, mediaType: guessMediaType(filename), crc32: null, sha256 };
  const reference: ExternalCrateTarget = { source, ...range, modified, ...described };
  return options.links.shareExternalTarget(caller, JSON.stringify(reference), terms);
}

/** Each file is read twice, since a ZIP needs checksums before the bytes. Nothing is read before there is room for all. */
async function shareFolderAsZip(
  { files, links }: CrateContentsOptions,
  { caller, place, container, terms }: ShareRequest,
  { signal, report }: ArchiveProgress,
): Promise<SharedLink> {
  const tooLarge = folderTooLargeToZipError;
  const listed = await listFilesToZip(container, files.maxFileSize, tooLarge, signal);
  await files.demandQuota(caller, computeZipSize(listed));
  const archive = createArchive(await digestFiles({ place, container }, listed, { signal, report }));
  const name = `${place.locator.replace(/\/+$/, '').split('/').at(-1) || 'crate'}.zip`;
  const kept = { name, mediaType: 'application/zip', origin: 'crate', keepSeconds: terms.ttlSeconds };
  const { id } = await files.add(
    caller,
    kept,
    archive.bytes(signal, () => {}),
    signal,
  );
  return links.share(caller, id, terms);
}

async function digestFiles(
  { place, container }: Pick<OpenCrate, 'place' | 'container'>,
  listed: readonly CrateFile[],
  { signal, report }: ArchiveProgress,
): Promise<ArchiveMember[]> {
  const members: ArchiveMember[] = [];
  for (const file of listed) {
    const read = (until: AbortSignal) => container.read(file, { limit: file.size, signal: until });
    const digest = await computeDigest(read(signal));
    members.push({ ...digest, path: file.path, modified: file.modified ?? place.modified, read });
    report(members.length, listed.length);
  }
  return members;
}

const maxFilesOfSharedFolder = 100_000;

async function listFilesToZip(
  container: CrateContainer,
  mostBytes: number,
  tooLarge: (what: string) => WorkcrateError,
  signal: AbortSignal,
): Promise<CrateFile[]> {
  const listed: CrateFile[] = [];
  let bytes = 0;
  for await (const file of container.files(signal)) {
    signal.throwIfAborted();
    bytes += file.size;
    listed.push(file);
    if (listed.length > maxFilesOfSharedFolder)
      throw tooLarge(`has more than ${maxFilesOfSharedFolder} files`);
    if (bytes > mostBytes) throw tooLarge(`has more than ${mostBytes} bytes`);
  }
  return listed;
}

const computeZipSize = (listed: readonly CrateFile[]): number =>
  createZipLayout(
    listed.map(({ path: name, size, modified }) => ({ name, size, crc32: 0, modified: modified ?? 0 })),
  ).size;

const folderTooLargeToZipError = (what: string): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `This crate is a folder that ${what}, which is too much for one archive. Get its files one by one: list_crate_files, then read_crate_file with delivery "link".`,
  );

export interface CrateContentsOptions {
  /** The location of a crate that the caller may see; `not_found` if there is none. */
  find(caller: Caller, crateId: string, signal: AbortSignal): Promise<CrateLocation>;
  readonly sourceOf: FindSource;
  readonly files: Pick<Files, 'add' | 'maxFileSize' | 'demandQuota'>;
  readonly links: Pick<Links, 'share' | 'shareExternalTarget'>;
  /** The largest crate that is sent as bytes. */
  readonly mostBytes: number;
}

/** A crate that is open for reading. */
export interface OpenCrate {
  readonly place: CrateLocation;
  readonly source: Source;
  readonly container: CrateContainer;
}

export async function requireCrateFile(container: CrateContainer, path: string): Promise<CrateFile> {
  const file = await container.find(path);
  if (file !== null) return file;
  throw new WorkcrateError(
    'not_found',
    `The crate has no file ${JSON.stringify(path.slice(0, 200))}. list_crate_files shows its files; upper and lower case and the Unicode form must match.`,
  );
}

/** A range of an object, as it was when it had this stamp. */
export interface StampedRange {
  readonly object: string;
  readonly stamp: string;
  readonly start: number;
  readonly end: number;
}

/** Null if that would mean reading too much, or if nothing needs it. */
export type ComputeRangeChecksum = (
  source: Source,
  range: StampedRange,
  signal: AbortSignal,
) => Promise<string | null>;

/** About a quarter of a second of work. For larger ranges, a link has the CRC of the archive, or nothing. */
const maxChecksumBytes = 256 * 1024 ** 2;
const maxKnownChecksums = 1000;

/**
 * Hashes what links to a folder serve. A copy of the folder, such as a restored backup, has other stamps: the digest
 * proves that the bytes are the same. Object stores keep their stamps.
 */
function createRangeChecksum(): ComputeRangeChecksum {
  const known = new BoundedMap<string, string>({ mostEntries: maxKnownChecksums });
  return async (source, range, signal) => {
    if (source.kind !== 'folder' || range.end - range.start > maxChecksumBytes) return null;
    const key = JSON.stringify([source.url, range.object, range.stamp, range.start, range.end]);
    const sha256 = known.get(key) ?? (await hashObjectRange(source, range, signal));
    known.set(key, sha256);
    return sha256;
  };
}

async function hashObjectRange(source: Source, range: StampedRange, signal: AbortSignal): Promise<string> {
  const { object: name, stamp, start, end } = range;
  await using object = await source.open(name, signal);
  if (object === null) throw crateGoneError(source.url, name);
  if (object.object.stamp !== stamp) throw crateChangedError(source.url, name);
  const hash = createHash('sha256');
  for await (const chunk of object.read(start, end, signal)) hash.update(chunk);
  return hash.digest('hex');
}
