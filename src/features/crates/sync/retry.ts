/**
 * Reads single crates, and decides what a failure means: a broken crate, one that is changing or gone, or a failure of the
 * source. Crates that crash the process are recorded and given up. It puts no crate into the index.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { Source } from '../../../ports/storage/source.ts';
import type { BrokenCrate, CrateLocation, ReadCrate } from '../crate.ts';
import { readMetadata } from '../metadata/metadata.ts';
import { openCrateContainer, type CrateContainer } from '../sources/sources.ts';

/**
 * A server that was killed while it read a large crate leaves the same row as one that the crate has crashed. So a crate
 * gets one more try, unless it is known that the previous process failed.
 */
const maxCrateTries = 2;

export interface CrateRetriesOptions {
  readonly clock: Clock;
  /** Whether this process replaces one that has failed. */
  readonly isAfterFailure: boolean;
}

export type CrateRetries = ReturnType<typeof createCrateRetries>;

/** Records which large crate is being read, so that a crate that crashes the process is not tried for ever. */
export function createCrateRetries(database: Database, { clock, isAfterFailure }: CrateRetriesOptions) {
  /** Crates whose rows were written by this process. */
  const ours = new Set<string>();

  async function forget(crateId: string): Promise<void> {
    await database.query('DELETE FROM crate_trying WHERE crate_id = ?', crateId);
    ours.delete(crateId);
  }

  return {
    forget,

    /** Dispose of it once the crate was read and written to the index. */
    async begin(place: CrateLocation): Promise<AsyncDisposable> {
      ours.add(place.crateId);
      await recordCrateTry(database, place, clock());
      // If this fails, the row is still known to be ours.
      return { [Symbol.asyncDispose]: () => forget(place.crateId).catch(ignoreRetryDatabaseError) };
    },

    /** Crates that have crashed a process. Call it while holding the lease, so that nobody else is reading them. */
    async ended(): Promise<BrokenCrate[]> {
      const rows = await database.query<{ crate_id: string; place: string; tries: number }>(
        'SELECT crate_id, place, tries FROM crate_trying ORDER BY crate_id',
      );
      return rows
        .filter(({ crate_id, tries }) => !ours.has(crate_id) && (isAfterFailure || tries >= maxCrateTries))
        .map(({ place }) => ({ place: JSON.parse(place) as CrateLocation, ...crashedProcessReason }));
    },

    /** Call it after a whole sync: what is left are rows of crates that are gone. */
    async clear(): Promise<void> {
      await database.query('DELETE FROM crate_trying');
      ours.clear();
    },
  };
}

const crashedProcessReason = {
  code: 'too_large' as const,
  reason:
    'It is too large for this server: reading it crashed the indexing process. It is tried again when it changes.',
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

/** The outcome of an attempt to read a crate. */
export type ReadAttempt =
  | { readonly crate: ReadCrate }
  | { readonly broken: BrokenCrate }
  /** An archive without metadata. */
  | { readonly loose: CrateLocation }
  /** It takes too much memory to be read concurrently with others. */
  | { readonly large: CrateLocation }
  /** It is being written to, and is left for the next sync. */
  | { readonly changing: CrateLocation }
  | { readonly gone: CrateLocation };

/** Faults of the crate itself, which stay until it changes. */
const crateFaultCodes: ReadonlySet<ErrorCode> = new Set([
  'not_a_zip',
  'zip_encrypted',
  'zip_truncated',
  'zip_damaged',
  'metadata_invalid',
  'too_large',
  'unsupported',
]);

/** Parsed metadata takes about ten times as much memory. */
const maxConcurrentMetadataBytes = 4 * 1024 * 1024;

export interface TryCrateOptions extends CrateReadOptions {
  readonly log: Log;
}

/** Reads a crate, unless its metadata is so large that it should be read alone. */
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

/** Turns a failure of this crate into an outcome; other failures are thrown. */
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

/** A crate that triggers a bug of ours must not keep all others out of the index. */
const internalFaultReason = {
  code: 'internal' as const,
  reason: 'The server failed while it read this crate. Its log says why.',
};

/** Limits for the file names of one crate that are indexed. */
const maxIndexedFileNames = 200_000;
const maxIndexedFileNameCharacters = 16_000_000;

export interface CrateReadOptions {
  /** The largest metadata file that is read, in bytes. */
  readonly maxMetadata: number;
  readonly signal: AbortSignal;
}

/** Reads what the index needs of a crate: its metadata, and the names of its files. */
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

/** Whether there is no metadata at all, as opposed to invalid metadata. */
const isAbsentMetadataError = (error: unknown): boolean =>
  isWorkcrateError(error, 'metadata_invalid') && error.details['kind'] === absentMetadataDetails.kind;
