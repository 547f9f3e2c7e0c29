/**
 * What a link to an object of a source remembers, and how a download checks that the object is still the same. It makes
 * no links and no tokens: `share.ts` asks `core/links/` for those.
 */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { computeDigest } from '../../../core/files/files.ts';
import { bytesGoneError, toObjectDownload, type Download } from '../../../core/links/links.ts';
import type { OpenSourceObject, Source, SourceObject } from '../../../ports/storage/source.ts';

const maxKnownCopies = 1000;

/**
 * Checks whether an object of a folder has the bytes that a link was made for, although its stamp differs. The object is
 * read once for that: the result is cached, and concurrent downloads wait for the same reading.
 */
function createCopyCheck() {
  const known = new BoundedMap<string, Promise<boolean>>({ mostEntries: maxKnownCopies });
  return async (source: Source, reference: ExternalCrateTarget, there: SourceObject): Promise<boolean> => {
    if (source.kind !== 'folder' || !mayBeRestoredCopy(reference, there)) return false;
    const { object, start, end, sha256, crc32 } = reference;
    const key = JSON.stringify([source.url, object, there.stamp, start, end, sha256, crc32]);
    const answer = known.get(key) ?? hasSameChecksum(source, reference, there);
    known.set(key, answer);
    // A disk that fails for a moment says nothing about the bytes.
    answer.catch(() => known.delete(key));
    return answer;
  };
}

/** A sha256 is proof enough. A CRC is if size and time are the same too, which a copy keeps. */
function mayBeRestoredCopy({ stamp, sha256, crc32 }: ExternalCrateTarget, there: SourceObject): boolean {
  if (readStampSize(stamp) !== there.size) return false;
  return (
    sha256 !== null || (crc32 !== null && readStampSizeAndTime(stamp) === readStampSizeAndTime(there.stamp))
  );
}

/** The stamp of a file begins with its size (see `toFileStamp` in `sources/folder-read.ts`). */
const readStampSize = (stamp: string): number => Number.parseInt(stamp, 36);

/** The part of a stamp that a copy keeps. */
const readStampSizeAndTime = (stamp: string): string => stamp.split('-').slice(0, -2).join('-');

async function hasSameChecksum(
  source: Source,
  reference: ExternalCrateTarget,
  there: SourceObject,
): Promise<boolean> {
  const { object, start, end, sha256, crc32 } = reference;
  try {
    await using opened = await source.open(object);
    if (opened?.object.stamp !== there.stamp) return false;
    const found = await computeDigest(opened.read(start, end));
    return sha256 === null ? found.crc32 === crc32 : found.sha256 === sha256;
  } catch (error) {
    if (isWorkcrateError(error, 'crate_changed') || isWorkcrateError(error, 'crate_gone')) return false;
    throw error;
  }
}

/** What a link to an object of a source, or to a range of one, stores. The server makes it, never a caller. */
export interface ExternalCrateTarget {
  readonly source: string;
  readonly object: string;
  readonly stamp: string;
  readonly start: number;
  readonly end: number;
  readonly crc32: number | null;
  /** Of these bytes; null if nobody has read them. */
  readonly sha256: string | null;
  readonly filename: string;
  readonly mediaType: string;
  readonly modified: number;
  /** The version (ETag) of earlier downloads, before the object got another stamp. */
  readonly version?: string;
}

export type FindSource = (url: string) => Source | null;

/** Serves links to crates: `bytes_gone` once the object is no longer the same. */
export function createExternalCrateTargets(sourceOf: FindSource) {
  const isCopy = createCopyCheck();

  /** The same bytes with another stamp, as in a restored backup, are still served. */
  async function current(source: Source, reference: ExternalCrateTarget, there: SourceObject | null) {
    if (there === null) throw bytesGoneError();
    if (there.stamp === reference.stamp) return reference;
    if (!(await isCopy(source, reference, there))) throw bytesGoneError();
    return { ...reference, stamp: there.stamp, version: toDownloadVersion(reference) };
  }

  return {
    async download(text: string, renew: (text: string) => Promise<unknown>): Promise<Download> {
      const given = JSON.parse(text) as ExternalCrateTarget;
      const source = sourceOf(given.source);
      if (source === null) throw bytesGoneError();
      const object = await source.stat(given.object);
      const reference = await current(source, given, object);
      if (reference !== given) await renew(JSON.stringify(reference));
      const isWhole = reference.start === 0 && reference.end === object!.size;
      return toObjectDownload({
        ...reference,
        version: toDownloadVersion(reference),
        object: () => openUnchangedObject(source, reference),
        ...(isWhole
          ? { presign: (expiresAt, response) => source.presign(reference.object, expiresAt, response) }
          : {}),
      });
    },
  };
}

function toDownloadVersion({ version, stamp, start, end }: ExternalCrateTarget): string {
  if (version !== undefined) return version;
  return createHash('sha256')
    .update(JSON.stringify([stamp, start, end]))
    .digest('hex');
}

async function openUnchangedObject(
  source: Source,
  reference: ExternalCrateTarget,
): Promise<OpenSourceObject> {
  const opened = await source.open(reference.object).catch(treatAsGone);
  if (opened === null) throw bytesGoneError();
  if (opened.object.stamp === reference.stamp) return opened;
  await opened[Symbol.asyncDispose]();
  throw bytesGoneError();
}

function treatAsGone(error: unknown): null {
  if (isWorkcrateError(error, 'crate_gone') || isWorkcrateError(error, 'crate_changed')) return null;
  throw error;
}

/** For a source that the settings no longer name. */
export const unknownSourceError = (url: string): WorkcrateError =>
  new WorkcrateError(
    'source_unreachable',
    `The crate is in ${url}, which is no longer a source of this server. Add it to --crate-sources again, or run sync_index.`,
  );
