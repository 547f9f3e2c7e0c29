import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { isWorkcrateError, WorkcrateError, type ErrorCode } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { Source } from '../../storage/source.ts';
import type { BrokenCrate, CratePlace, ReadCrate } from '../crate.ts';
import { readMetadata } from '../metadata/metadata.ts';
import { openContainer, type CrateContainer } from '../sources/sources.ts';

/**
 * A server that was stopped or cut off while it read a large crate leaves a row just as one does that the crate has
 * ended. So a crate gets one more try, unless it is known that the process before this one failed.
 */
const mostTries = 2;

export interface TryingOptions {
  readonly clock: Clock;
  /** Whether this process was started in place of one that has failed. */
  readonly isAfterFailure: boolean;
}

export type Trying = ReturnType<typeof createTrying>;

/** Notes which large crate is being read, so that one that ends the process does not do so for ever. */
export function createTrying(database: Database, { clock, isAfterFailure }: TryingOptions) {
  /** Those whose rows are of this process, which has not ended. */
  const ours = new Set<string>();

  async function forget(crateId: string): Promise<void> {
    await database.query('DELETE FROM crate_trying WHERE crate_id = ?', crateId);
    ours.delete(crateId);
  }

  return {
    forget,

    /** To be held while a crate is read and put in. */
    async begin(place: CratePlace): Promise<AsyncDisposable> {
      ours.add(place.crateId);
      await note(database, place, clock());
      // Where this fails, the row is still known as one of ours.
      return { [Symbol.asyncDispose]: () => forget(place.crateId).catch(tolerateFailedDatabase) };
    },

    /** Crates that have ended a process. For whoever holds the lease, so that nobody is at them. */
    async ended(): Promise<BrokenCrate[]> {
      const rows = await database.query<{ crate_id: string; place: string; tries: number }>(
        'SELECT crate_id, place, tries FROM crate_trying ORDER BY crate_id',
      );
      return rows
        .filter(({ crate_id, tries }) => !ours.has(crate_id) && (isAfterFailure || tries >= mostTries))
        .map(({ place }) => ({ place: JSON.parse(place) as CratePlace, ...fatal }));
    },

    /** After everything was tried: what is left is of crates that are gone. */
    async clear(): Promise<void> {
      await database.query('DELETE FROM crate_trying');
      ours.clear();
    },
  };
}

const fatal = {
  code: 'too_large' as const,
  reason:
    'It is too much for this server: reading it ended the process that indexes. It is tried again once it changes.',
};

async function note(database: Database, place: CratePlace, now: number): Promise<void> {
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

function tolerateFailedDatabase(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}

/** What came of an attempt to read a crate. */
export type Tried =
  | { readonly crate: ReadCrate }
  | { readonly broken: BrokenCrate }
  /** An archive without metadata. */
  | { readonly loose: CratePlace }
  /** It takes too much memory to be read beside others. */
  | { readonly large: CratePlace }
  /** It is written to at the moment, and is left for the next time. */
  | { readonly changing: CratePlace }
  | { readonly gone: CratePlace };

/** What is wrong with a crate itself, and stays so until it changes. */
const faults: ReadonlySet<ErrorCode> = new Set([
  'not_a_zip',
  'zip_encrypted',
  'zip_truncated',
  'zip_damaged',
  'metadata_invalid',
  'too_large',
  'unsupported',
]);

/** In bytes. Metadata take some ten times as much once they are understood. */
const mostBesideOthers = 4 * 1024 * 1024;

export interface TryCrateOptions extends ReadingOptions {
  readonly log: Log;
}

/** Reads a crate, unless its metadata are so large that it should be alone. */
export async function tryBesideOthers(
  source: Source,
  place: CratePlace,
  options: TryCrateOptions,
): Promise<Tried> {
  const maxMetadata = Math.min(mostBesideOthers, options.maxMetadata);
  try {
    return { crate: await readCrate(source, place, { ...options, maxMetadata }) };
  } catch (error) {
    if (isWorkcrateError(error, 'too_large')) return { large: place };
    return toldOf(error, place, options);
  }
}

export async function tryAlone(source: Source, place: CratePlace, options: TryCrateOptions): Promise<Tried> {
  try {
    return { crate: await readCrate(source, place, options) };
  } catch (error) {
    return toldOf(error, place, options);
  }
}

/** What concerns this crate alone; anything else is thrown. */
function toldOf(error: unknown, place: CratePlace, { signal, log }: TryCrateOptions): Tried {
  signal.throwIfAborted();
  if (isWorkcrateError(error, 'crate_changed')) return { changing: place };
  if (isWorkcrateError(error, 'crate_gone')) return { gone: place };
  if (lacksMetadata(error)) return { loose: place };
  if (isWorkcrateError(error) && !faults.has(error.code)) throw error;
  const { code, reason } = isWorkcrateError(error) ? { code: error.code, reason: error.message } : ourFault;
  const { crateId: crate, locator } = place;
  if (code === 'internal') log.error('crates.reading_failed', { crate, locator, error });
  else log.info('crates.broken', { crate, locator, code });
  return { broken: { place, code, reason } };
}

/** A crate that brings out a fault of ours must not keep all others out of the index. */
const ourFault = {
  code: 'internal' as const,
  reason: 'The server failed while it read this crate. Its log says why.',
};

/** The most file names of one crate that can be searched for, and the most characters of them. */
const mostNames = 200_000;
const mostOfNames = 16_000_000;

export interface ReadingOptions {
  /** The largest metadata file that is read, in bytes. */
  readonly maxMetadata: number;
  readonly signal: AbortSignal;
}

/** Reads what the index holds of a crate: its metadata, and the names of what is in it. */
export async function readCrate(
  source: Source,
  place: CratePlace,
  options: ReadingOptions,
): Promise<ReadCrate> {
  await using container = await openContainer(source, place, options);
  const metadata = readMetadata(await metadataIn(container, options));
  const files: string[] = [];
  let [fileCount, bytes, length] = [0, 0, 0];
  for await (const { path, size } of container.files(options.signal)) {
    fileCount++;
    bytes += size;
    length += path.length;
    if (files.length < mostNames && length <= mostOfNames) files.push(path);
  }
  const issues = [...metadata.issues, ...container.issues];
  const known = Number.isSafeInteger(bytes) ? bytes : null;
  return { place, root: container.root, metadata: { ...metadata, issues }, files, fileCount, bytes: known };
}

async function metadataIn(
  container: CrateContainer,
  { maxMetadata, signal }: ReadingOptions,
): Promise<Uint8Array> {
  try {
    return await container.metadata(maxMetadata, signal);
  } catch (error) {
    if (!isWorkcrateError(error, 'metadata_invalid')) throw error;
    throw new WorkcrateError(error.code, error.message, { details: absent });
  }
}

const absent = { kind: 'absent' };

/** Whether there are no metadata at all, which is another thing than bad ones. */
const lacksMetadata = (error: unknown): boolean =>
  isWorkcrateError(error, 'metadata_invalid') && error.details['kind'] === absent.kind;
