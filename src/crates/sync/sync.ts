import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { isWorkcrateError, publicMessage, WorkcrateError } from '../../errors.ts';
import { takeLease } from './lease.ts';
import { syncSource, untouched, type SourceReport, type SyncRoom } from './sync-source.ts';
import { throttled, type Throttled } from './throttled.ts';
import type { WatchedSource } from './watched.ts';

export type { SourceReport } from './sync-source.ts';
export { createTrying } from './trying.ts';

export interface SyncOptions extends Omit<SyncRoom, 'signal'> {
  readonly database: Database;
  readonly clock: Clock;
}

export interface Syncing {
  readonly signal: AbortSignal;
  /** Whether sources that are not among these leave the index with all their crates. */
  readonly forget: boolean;
  /** Told some ten times a second at most, and at the end of each source. */
  report(progress: SourceReport): void;
}

/** Brings the index up to date. One process at a time; another is told `index_busy`. */
export async function syncAll(
  options: SyncOptions,
  watched: readonly WatchedSource[],
  { signal, report, forget }: Syncing,
): Promise<SourceReport[]> {
  const { database, clock, keeper, trying } = options;
  await using lease = await takeLease(database, 'sync', clock);
  if (lease === null) throw busy();
  if (lease.wasCutOff) keeper.suspect();
  await tellEnded(options);
  const room = { ...options, signal: AbortSignal.any([signal, lease.lost]) };
  const told = throttled(report, clock);
  const reports: SourceReport[] = [];
  for (const one of watched) reports.push(await syncOrTell(room, one, told));
  if (forget)
    await keeper.forgetOthers(
      watched.map(({ source }) => source.url),
      room.signal,
    );
  await trying.clear();
  if (await keeper.tidyUp(room.signal)) await lease.finish();
  return reports;
}

/** Crates that ended the process before are not tried again. */
async function tellEnded({ trying, keeper, log }: SyncOptions): Promise<void> {
  const ended = await trying.ended();
  for (const broken of ended) await keeper.take({ broken });
  await keeper.flush();
  for (const { place, code } of ended) {
    await trying.forget(place.crateId);
    log.warn('crates.broken', { crate: place.crateId, locator: place.locator, code });
  }
}

const busy = (): WorkcrateError =>
  new WorkcrateError(
    'index_busy',
    'The index is being brought up to date already. index_status shows how far it is.',
  );

/** A source that cannot be read does not hold up the others, and what is known of it stays as it is. */
async function syncOrTell(
  room: SyncRoom,
  watched: WatchedSource,
  told: Throttled<SourceReport>,
): Promise<SourceReport> {
  const { url } = watched.source;
  const { keeper, log } = room;
  let done = untouched(url);
  const report = (progress: SourceReport): void => told.soon((done = progress));
  await keeper.note(url, 'syncing', null);
  try {
    done = await syncSource(room, watched, report);
    await keeper.note(url, 'ok', null);
    log.info('crates.synced', { ...done });
  } catch (error) {
    await keeper.flush();
    if (room.signal.aborted || !isMatterOfSource(error)) {
      await keeper.note(url, 'failed', reasonOf(error, room.signal));
      throw error;
    }
    done = { ...done, state: 'unreachable', reason: error.message };
    await keeper.note(url, 'unreachable', error.message);
    log.warn('crates.source_unreachable', { source: url, error });
  }
  told.now(done);
  return done;
}

const isMatterOfSource = (error: unknown): error is WorkcrateError =>
  isWorkcrateError(error, 'source_unreachable') || isWorkcrateError(error, 'out_of_descriptors');

function reasonOf(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return 'It was cut off. The next time goes on from there.';
  return isWorkcrateError(error) ? publicMessage(error) : 'The server failed. Its log says why.';
}
