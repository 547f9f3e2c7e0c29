/**
 * Reads single crates, and decides what a failure means: a broken crate, one that is changing or gone, or a failure of the
 * source. Crates that crash the process are recorded and given up. It puts no crate into the index.
 */
import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { isWorkcrateError, WorkcrateError, type ErrorCode } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { Source } from '../../storage/source.ts';
import type { BrokenCrate, CrateLocation, ReadCrate } from '../crate.ts';
import { readMetadata } from '../metadata/metadata.ts';
import { openCrateContainer, type CrateContainer } from '../sources/sources.ts';

/**
 * A server that was stopped or cut off while it read a large crate leaves a row just as one does that the crate has
 * ended. So a crate gets one more try, unless it is known that the process before this one failed.
 */
const maxCrateTries = 2;

export interface CrateRetriesOptions {
  readonly clock: Clock;
  /** Whether this process was started in place of one that has failed. */
  readonly isAfterFailure: boolean;
}

export type CrateRetries = ReturnType<typeof createCrateRetries>;

/** Notes which large crate is being read, so that one that ends the process does not do so for ever. */
export function createCrateRetries(database: Database, { clock, isAfterFailure }: CrateRetriesOptions) {
  /** Those whose rows are of this process, which has not ended. */
  const ours = new Set<string>();

  async function forget(crateId: string): Promise<void> {
    await database.query('DELETE FROM crate_trying WHERE crate_id = ?', crateId);
    ours.delete(crateId);
  }

  return {
    forget,

    /** To be held while a crate is read and put in. */
    async begin(place: CrateLocation): Promise<AsyncDisposable> {
      ours.add(place.crateId);
      await recordCrateTry(database, place, clock());
      // Where this fails, the row is still known as one of ours.
      return { [Symbol.asyncDispose]: () => forget(place.crateId).catch(ignoreRetryDatabaseError) };
    },

    /** Crates that have ended a process. For whoever holds the lease, so that nobody is at them. */
    async ended(): Promise<BrokenCrate[]> {
      const rows = await database.query<{ crate_id: string; place: string; tries: number }>(
        'SELECT crate_id, place, tries FROM crate_trying ORDER BY crate_id',
      );
      return rows
        .filter(({ crate_id, tries }) => !ours.has(crate_id) && (isAfterFailure || tries >= maxCrateTries))
        .map(({ place }) => ({ place: JSON.parse(place) as CrateLocation, ...crashedProcessReason }));
    },

    /** After everything was tried: what is left is of crates that are gone. */
    async clear(): Promise<void> {
      await database.query('DELETE FROM crate_trying');
      ours.clear();
    },
  };
}

const crashedProcessReason = {
  code: 'too_large' as const,
  reason:
    'It is too much for this server: reading it ended the process that indexes. It is tried again once it changes.',
};

async function recordCrateTry(database: Database, place: CrateLocation, now: number): Promise<void> {
  await database.query(
    `INSERT INTO crate_trying (crate_id, stamp, place, tries, since) VALUES (?, ?, ?, 1, ?)
     ON CONFLICT (crate_id) DO UPDATE SET stamp = excluded.stamp, place = excluded.place, since = excluded.since,
       tries = CASE WHEN crate_trying.stamp = excluded.stamp THEN crate_trying.tries + 1 ELSE 1 END`,
    place.crateId,
    place.stamp,
    JSON.stringify(place),
    now,
  );
}

function ignoreRetryDatabaseError(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}

/** What came of an attempt to read a crate. */
export type ReadAttempt =
  | { readonly crate: ReadCrate }
  | { readonly broken: BrokenCrate }
  /** An archive without metadata. */
  | { readonly loose: CrateLocation }
  /** It takes too much memory to be read beside others. */
  | { readonly large: CrateLocation }
  /** It is written to at the moment, and is left for the next time. */
  | { readonly changing: CrateLocation }
  | { readonly gone: CrateLocation };

/** What is wrong with a crate itself, and stays so until it changes. */
const crateFaultCodes: ReadonlySet<ErrorCode> = new Set([
  'not_a_zip',
  'zip_encrypted',
  'zip_truncated',
  'zip_damaged',
  'metadata_invalid',
  'too_large',
  'unsupported',
]);

/** In bytes. Metadata take some ten times as much once they are understood. */
const maxConcurrentMetadataBytes = 4 * 1024 * 1024;

export interface TryCrateOptions extends CrateReadOptions {
  readonly log: Log;
}

/** Reads a crate, unless its metadata are so large that it should be alone. */
export async function tryReadConcurrently(
  source: Source,
  place: CrateLocation,
  options: TryCrateOptions,
): Promise<ReadAttempt> {
  const maxMetadata = Math.min(maxConcurrentMetadataBytes, options.maxMetadata);
  try {
    return { crate: await readCrate(source, place, { ...options, maxMetadata }) };
  } catch (error) {
    if (isWorkcrateError(error, 'too_large')) return { large: place };
    return toFailedAttempt(error, place, options);
  }
}

export async function tryReadAlone(
  source: Source,
  place: CrateLocation,
  options: TryCrateOptions,
): Promise<ReadAttempt> {
  try {
    return { crate: await readCrate(source, place, options) };
  } catch (error) {
    return toFailedAttempt(error, place, options);
  }
}

/** What concerns this crate alone; anything else is thrown. */
function toFailedAttempt(
  error: unknown,
  place: CrateLocation,
  { signal, log }: TryCrateOptions,
): ReadAttempt {
  signal.throwIfAborted();
  if (isWorkcrateError(error, 'crate_changed')) return { changing: place };
  if (isWorkcrateError(error, 'crate_gone')) return { gone: place };
  if (isAbsentMetadataError(error)) return { loose: place };
  if (isWorkcrateError(error) && !crateFaultCodes.has(error.code)) throw error;
  const { code, reason } = isWorkcrateError(error)
    ? { code: error.code, reason: error.message }
    : internalFaultReason;
  const { crateId: crate, locator } = place;
  if (code === 'internal') log.error('crates.reading_failed', { crate, locator, error });
  else log.info('crates.broken', { crate, locator, code });
  return { broken: { place, code, reason } };
}

/** A crate that brings out a fault of ours must not keep all others out of the index. */
const internalFaultReason = {
  code: 'internal' as const,
  reason: 'The server failed while it read this crate. Its log says why.',
};

/** The most file names of one crate that can be searched for, and the most characters of them. */
const maxIndexedFileNames = 200_000;
const maxIndexedFileNameCharacters = 16_000_000;

export interface CrateReadOptions {
  /** The largest metadata file that is read, in bytes. */
  readonly maxMetadata: number;
  readonly signal: AbortSignal;
}

/** Reads what the index holds of a crate: its metadata, and the names of what is in it. */
export async function readCrate(
  source: Source,
  place: CrateLocation,
  options: CrateReadOptions,
): Promise<ReadCrate> {
  await using container = await openCrateContainer(source, place, options);
  const metadata = readMetadata(await readMetadataBytes(container, options));
  const files: string[] = [];
  let [fileCount, bytes, length] = [0, 0, 0];
  for await (const { path, size } of container.files(options.signal)) {
    fileCount++;
    bytes += size;
    length += path.length;
    if (files.length < maxIndexedFileNames && length <= maxIndexedFileNameCharacters) files.push(path);
  }
  const issues = [...metadata.issues, ...container.issues];
  const known = Number.isSafeInteger(bytes) ? bytes : null;
  return { place, root: container.root, metadata: { ...metadata, issues }, files, fileCount, bytes: known };
}

async function readMetadataBytes(
  container: CrateContainer,
  { maxMetadata, signal }: CrateReadOptions,
): Promise<Uint8Array> {
  try {
    return await container.metadata(maxMetadata, signal);
  } catch (error) {
    if (!isWorkcrateError(error, 'metadata_invalid')) throw error;
    throw new WorkcrateError(error.code, error.message, { details: absentMetadataDetails });
  }
}

const absentMetadataDetails = { kind: 'absent' };

/** Whether there are no metadata at all, which is another thing than bad ones. */
const isAbsentMetadataError = (error: unknown): boolean =>
  isWorkcrateError(error, 'metadata_invalid') && error.details['kind'] === absentMetadataDetails.kind;
