import { createHash } from 'node:crypto';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { WorkcrateError } from '../../errors.ts';
import { cleanFilename } from '../../filenames.ts';
import { computeDigest, guessMediaType, type Files } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Links, LinkTerms, SharedLink } from '../../links/links.ts';
import { crateChangedError, crateGoneError, getKnownUrl, type Source } from '../../storage/source.ts';
import { collectBytes } from '../../streams.ts';
import { createZipLayout } from '../../zip/zip.ts';
import type { CrateLocation } from '../crate.ts';
import { createArchive, type ArchiveMember } from '../pack/archive.ts';
import type { CrateContainer, CrateFile } from '../sources/sources.ts';
import type { ExternalCrateTarget, FindSource } from './copies.ts';

type OpenCrateById = (caller: Caller, crateId: string, signal: AbortSignal) => Promise<OpenCrate>;

/** Hands out crates and what is in them, by link or, where they are small, as bytes. */
export function createCrateSharing(options: CrateContentsOptions, open: OpenCrateById) {
  const digestRange = createRangeChecksum();
  return {
    /**
     * A link to one file. What is stored as it is leaves straight out of its source, by any range; what is compressed
     * is unpacked once, and kept as a file of the caller's for as long as the link lives.
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

    /** A link to the whole crate: to the archive as it stands, or to one made of its folder. */
    async download(
      caller: Caller,
      crateId: string,
      terms: LinkTerms,
      watching: ArchiveProgress,
      /** Where it is known, as it is of a crate that was just packed. */
      sha256: string | null = null,
    ) {
      const { place, source, container } = await open(caller, crateId, watching.signal);
      await using _held = container;
      const wanted = { caller, place, source, container, terms, sha256 };
      const shared = await shareWholeCrate({ ...options, digestRange }, wanted, watching);
      return { locator: place.locator, shared };
    },

    /** The whole crate as bytes, up to the limit. */
    async bytes(caller: Caller, crateId: string, signal: AbortSignal) {
      const { place, source, container } = await open(caller, crateId, signal);
      await using _held = container;
      const { mostBytes } = options;
      if (place.kind === 'folder')
        throw new WorkcrateError(
          'unsupported',
          'This crate is a folder, which is not given as base64. Take it by link: delivery "link".',
        );
      await using object = await source.open(place.object, signal);
      if (object === null || object.object.stamp !== place.stamp) throw changedSinceIndexedError(place);
      if (object.size > mostBytes) throw base64TooLargeError(object.size, mostBytes);
      return { locator: place.locator, bytes: await collectBytes(object.read(0, object.size, signal)) };
    },
  };
}

const unpackedTooLargeError = (path: string, size: number, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `${JSON.stringify(path.slice(0, 200))} takes ${size} bytes unpacked; at most ${most} are. Take the whole crate with download_crate.`,
  );

const base64TooLargeError = (size: number, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The crate takes ${size} bytes; as base64 at most ${most} are given. Take it by link: download_crate with delivery "link".`,
  );

const changedSinceIndexedError = ({ locator }: CrateLocation): WorkcrateError =>
  new WorkcrateError(
    'crate_changed',
    `${locator} has changed since it was indexed. sync_index, then try again.`,
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

/** An archive, or metadata alone, is linked to as it stands; a folder is packed as a file of the caller's first. */
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

/** Each file is read twice: an archive says what is in it before it says it. None is before there is room for all. */
async function shareFolderAsZip(
  { files, links }: CrateContentsOptions,
  { caller, place, container, terms }: ShareRequest,
  { signal, report }: ArchiveProgress,
): Promise<SharedLink> {
  const listed = await listFilesToZip(container, files.maxFileSize, signal);
  await files.demandQuota(caller, computeZipSize(listed));
  const members: ArchiveMember[] = [];
  for (const file of listed) {
    const read = (until: AbortSignal) => container.read(file, { limit: file.size, signal: until });
    const digest = await computeDigest(read(signal));
    members.push({ ...digest, path: file.path, modified: file.modified ?? place.modified, read });
    report(members.length, listed.length);
  }
  const archive = createArchive(members);
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

const maxFilesOfSharedFolder = 100_000;

async function listFilesToZip(
  container: CrateContainer,
  mostBytes: number,
  signal: AbortSignal,
): Promise<CrateFile[]> {
  const listed: CrateFile[] = [];
  let bytes = 0;
  for await (const file of container.files(signal)) {
    signal.throwIfAborted();
    bytes += file.size;
    listed.push(file);
    if (listed.length > maxFilesOfSharedFolder)
      throw folderTooLargeToZipError(`has more than ${maxFilesOfSharedFolder} files`);
    if (bytes > mostBytes) throw folderTooLargeToZipError(`takes more than ${mostBytes} bytes`);
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
    `This crate is a folder that ${what}, and so is not packed into one archive. Take its files one by one: list_crate_files, then link_crate_file.`,
  );

export interface CrateContentsOptions {
  /** Where a crate that the caller may see stands; `not_found` where there is none. */
  find(caller: Caller, crateId: string, signal: AbortSignal): Promise<CrateLocation>;
  readonly sourceOf: FindSource;
  readonly files: Pick<Files, 'add' | 'maxFileSize' | 'demandQuota'>;
  readonly links: Pick<Links, 'share' | 'shareExternalTarget'>;
  /** The largest crate that is given as bytes. */
  readonly mostBytes: number;
}

/** A crate held open where it stands. */
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
    `The crate holds no file ${JSON.stringify(path.slice(0, 200))}. list_crate_files shows what there is; case and Unicode form count.`,
  );
}

/** A stretch of an object, as it was when it had this stamp. */
export interface StampedRange {
  readonly object: string;
  readonly stamp: string;
  readonly start: number;
  readonly end: number;
}

/** Null where it is not to be had without reading too much, or where nothing needs it. */
export type ComputeRangeChecksum = (
  source: Source,
  range: StampedRange,
  signal: AbortSignal,
) => Promise<string | null>;

/** A quarter of a second's work. Of what is larger, a link has the CRC of the archive, or nothing. */
const maxChecksumBytes = 256 * 1024 ** 2;
const maxKnownChecksums = 1000;

/**
 * Hashes what links to a folder give. A copy of the folder, as a restored backup is, has other stamps: by the digest a
 * link can tell that the bytes are the same. Stores keep their stamps.
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
