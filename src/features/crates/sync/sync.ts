/**
 * Syncs the index with all sources, one after another: lists, reads what is new or changed, removes what is gone. A lease
 * lets one process do so at a time. Crates are read in `retry.ts`, and written by `index-updater.ts`.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import { isWorkcrateError, publicMessage, WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { sourceUnreachableError } from '../../../ports/storage/source.ts';
import type { CrateLocation } from '../crate.ts';
import { findCandidates, type IndexedSource } from '../sources/sources.ts';
import { mapConcurrently } from './in-parallel.ts';
import type { IndexUpdater, KnownStamp } from './index-updater.ts';
import { acquireSyncLease } from './lease.ts';
import { isCrateStamp, createLooseArchives } from './loose-archives.ts';
import { tryReadAlone, tryReadConcurrently, type ReadAttempt, type CrateRetries } from './retry.ts';

export { createCrateRetries } from './retry.ts';

export interface SyncOptions extends Omit<SyncContext, 'signal'> {
  readonly database: Database;
  readonly clock: Clock;
}

export interface SyncRequest {
  readonly signal: AbortSignal;
  /** Whether to remove all other sources from the index, with their crates. */
  readonly forget: boolean;
  /** Called at most ten times a second, and at the end of each source. */
  report(progress: SourceReport): void;
}

/** Brings the index up to date. One process at a time; others get `index_busy`. */
export async function syncAllSources(
  options: SyncOptions,
  watched: readonly IndexedSource[],
  { signal, report, forget }: SyncRequest,
): Promise<SourceReport[]> {
  const { database, clock, updater, retries } = options;
  await using lease = await acquireSyncLease(database, 'sync', clock);
  if (lease === null) throw syncBusyError();
  if (lease.wasCutOff) updater.suspect();
  await recordCrashedCrates(options);
  const context = { ...options, signal: AbortSignal.any([signal, lease.lost]) };
  const throttled = throttleSyncProgress(report, clock);
  const reports: SourceReport[] = [];
  for (const one of watched) reports.push(await syncSourceAndReport(context, one, throttled));
  if (forget)
    await updater.forgetOthers(
      watched.map(({ source }) => source.url),
      context.signal,
    );
  await retries.clear();
  if (await updater.tidyUp(context.signal)) await lease.finish();
  return reports;
}

/** Crates that crashed the previous process are not tried again. */
async function recordCrashedCrates({ retries, updater, log }: SyncOptions): Promise<void> {
  const ended = await retries.ended();
  for (const broken of ended) await updater.take({ broken });
  await updater.flush();
  for (const { place, code } of ended) {
    await retries.forget(place.crateId);
    log.warn('crates.broken', { crate: place.crateId, locator: place.locator, code });
  }
}

const syncBusyError = (): WorkcrateError =>
  new WorkcrateError('index_busy', 'The index is already being updated. index_status shows the progress.');

/** A source that cannot be read does not block the others, and its crates stay in the index. */
async function syncSourceAndReport(
  context: SyncContext,
  watched: IndexedSource,
  throttled: ThrottledProgress<SourceReport>,
): Promise<SourceReport> {
  const { url } = watched.source;
  const { updater, log } = context;
  let done = createEmptyReport(url);
  const report = (progress: SourceReport): void => throttled.soon((done = progress));
  await updater.note(url, 'syncing', null);
  try {
    done = await syncSource(context, watched, report);
    await updater.note(url, 'ok', null);
    log.info('crates.synced', { ...done });
  } catch (error) {
    await updater.flush();
    if (context.signal.aborted || !isSourceError(error)) {
      await updater.note(url, 'failed', describeSyncFailure(error, context.signal));
      throw error;
    }
    done = { ...done, state: 'unreachable', reason: error.message };
    await updater.note(url, 'unreachable', error.message);
    log.warn('crates.source_unreachable', { source: url, error });
  }
  throttled.now(done);
  return done;
}

const isSourceError = (error: unknown): error is WorkcrateError =>
  isWorkcrateError(error, 'source_unreachable') || isWorkcrateError(error, 'out_of_descriptors');

function describeSyncFailure(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return 'It was interrupted. The next sync continues from there.';
  return isWorkcrateError(error) ? publicMessage(error) : 'The server failed. Its log says why.';
}

/** The progress or the result of syncing one source. */
export interface SourceReport {
  readonly source: string;
  readonly state: 'ok' | 'unreachable';
  readonly reason: string | null;
  /** How many objects look like a crate. */
  readonly seen: number;
  readonly read: number;
  readonly unchanged: number;
  /** All that cannot be read, whether it was tried now or is as it was when it was tried. */
  readonly broken: number;
  readonly removed: number;
}

export interface SyncContext {
  readonly updater: IndexUpdater;
  readonly retries: CrateRetries;
  readonly maxMetadata: number;
  readonly signal: AbortSignal;
  readonly log: Log;
}

const maxConcurrentReads = 8;

const createEmptyReport = (source: string): SourceReport => {
  const counts = { seen: 0, read: 0, unchanged: 0, broken: 0, removed: 0 };
  return { source, state: 'ok', reason: null, ...counts };
};

/** Reads what is new or changed, removes what is gone. If it is interrupted, what was done so far stays. */
async function syncSource(
  context: SyncContext,
  watched: IndexedSource,
  report: (progress: SourceReport) => void,
): Promise<SourceReport> {
  const { updater, signal, log } = context;
  const { source } = watched;
  const known = await updater.known(watched);
  const loose = createLooseArchives();
  const seen = new Set<string>();
  const counts = { ...createEmptyReport(source.url) } as {
    -readonly [Key in keyof SourceReport]: SourceReport[Key];
  };
  let objects = 0;

  async function* changed(): AsyncGenerator<CrateLocation> {
    const looked = (page: { readonly objects: number }): void => {
      objects += page.objects;
      report({ ...counts });
    };
    for await (const place of findCandidates({ ...watched, looked }, signal)) {
      if (seen.has(place.crateId)) continue;
      seen.add(place.crateId);
      counts.seen++;
      loose.pass(place);
      const { stamp, isBroken } = known.get(place.crateId) ?? {};
      if (loose.isKnown(place, stamp)) continue;
      // What is broken stays so until it changes.
      if (stamp === place.stamp) counts[isBroken === true ? 'broken' : 'unchanged']++;
      else yield place;
    }
  }

  async function take(tried: ReadAttempt): Promise<void> {
    if ('large' in tried) return takeLarge(tried.large);
    if ('loose' in tried) return updater.take({ broken: loose.add(tried.loose) });
    if ('gone' in tried) return void seen.delete(tried.gone.crateId);
    if ('changing' in tried)
      return log.info('crates.changing', { crate: tried.changing.crateId, locator: tried.changing.locator });
    counts['crate' in tried ? 'read' : 'broken']++;
    await updater.take(tried);
  }

  /** Flushed before the next one is read, so that a crash can be blamed on the right crate. */
  async function takeLarge(place: CrateLocation): Promise<void> {
    await using _noted = await context.retries.begin(place);
    await take(await tryReadAlone(source, place, context));
    await updater.flush();
  }

  for await (const tried of mapConcurrently(changed(), maxConcurrentReads, (place) =>
    tryReadConcurrently(source, place, context),
  )) {
    await take(tried);
    report({ ...counts });
  }
  checkSourceNotEmptied(watched, objects, known);
  for (const broken of loose.mistaken()) await updater.take({ broken });
  await updater.flush();
  signal.throwIfAborted();
  const gone = [...known.keys()].filter((id) => !seen.has(id));
  await updater.remove(gone);
  counts.removed = gone.filter((id) => isCrateStamp(known.get(id)!.stamp)).length;
  const { payload, broken } = loose.count();
  counts.seen -= payload;
  counts.broken += broken;
  return counts;
}

/** A mount point exists and is empty while its disk is not mounted. */
function checkSourceNotEmptied(
  { source }: IndexedSource,
  objects: number,
  known: ReadonlyMap<string, KnownStamp>,
): void {
  const crates = known
    .values()
    .filter(({ stamp }) => isCrateStamp(stamp))
    .toArray().length;
  if (source.kind !== 'folder' || objects > 0 || crates === 0) return;
  throw sourceUnreachableError(
    source.url,
    `It is empty, although it had ${crates} ${crates === 1 ? 'crate' : 'crates'}. Is it mounted? If it is meant to ` +
      'be empty, put any file into it.',
  );
}

/** Ten times a second is as much as anybody can follow. */
const progressIntervalMs = 100;

export interface ThrottledProgress<T> {
  /** Passed on, unless another was passed on a moment ago. */
  soon(progress: T): void;
  now(progress: T): void;
}

/** Rate limit for progress. Each report has the whole state, so some may be left out. */
function throttleSyncProgress<T>(report: (progress: T) => void, clock: Clock): ThrottledProgress<T> {
  let last = -Infinity;
  const now = (progress: T): void => {
    last = clock();
    report(progress);
  };
  return {
    now,
    // A clock that was set back must not stop the reports.
    soon: (progress) => (Math.abs(clock() - last) >= progressIntervalMs ? now(progress) : undefined),
  };
}
