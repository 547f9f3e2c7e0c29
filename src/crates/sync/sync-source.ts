import type { Log } from '../../log.ts';
import { sourceUnreachable } from '../../storage/source.ts';
import type { CratePlace } from '../crate.ts';
import { candidatesIn } from '../sources/sources.ts';
import { inParallel } from './in-parallel.ts';
import type { Keeper } from './keeper.ts';
import { isCrateStamp, looseArchives } from './loose-archives.ts';
import { tryAlone, tryBesideOthers, type Tried } from './try-crate.ts';
import type { Trying } from './trying.ts';
import type { WatchedSource } from './watched.ts';

/** How far the look at one source is, or how it ended. */
export interface SourceReport {
  readonly source: string;
  readonly state: 'ok' | 'unreachable';
  readonly reason: string | null;
  /** What looks like a crate. */
  readonly seen: number;
  readonly read: number;
  readonly unchanged: number;
  readonly broken: number;
  readonly removed: number;
}

export interface SyncRoom {
  readonly keeper: Keeper;
  readonly trying: Trying;
  readonly maxMetadata: number;
  readonly signal: AbortSignal;
  readonly log: Log;
}

const atOnce = 8;

export const untouched = (source: string): SourceReport => {
  const counts = { seen: 0, read: 0, unchanged: 0, broken: 0, removed: 0 };
  return { source, state: 'ok', reason: null, ...counts };
};

/** Reads what is new or has changed, forgets what is gone. What was done by then stays, where it is cut off. */
export async function syncSource(
  room: SyncRoom,
  watched: WatchedSource,
  report: (progress: SourceReport) => void,
): Promise<SourceReport> {
  const { keeper, signal, log } = room;
  const { source } = watched;
  const known = await keeper.known(watched);
  const loose = looseArchives();
  const seen = new Set<string>();
  const counts = { ...untouched(source.url) } as { -readonly [Key in keyof SourceReport]: SourceReport[Key] };
  let objects = 0;

  async function* changed(): AsyncGenerator<CratePlace> {
    const looked = (page: { readonly objects: number }): void => {
      objects += page.objects;
      report({ ...counts });
    };
    for await (const place of candidatesIn({ ...watched, looked }, signal)) {
      if (seen.has(place.crateId)) continue;
      seen.add(place.crateId);
      counts.seen++;
      loose.pass(place);
      const stamp = known.get(place.crateId);
      if (loose.isKnown(place, stamp)) continue;
      if (stamp === place.stamp) counts.unchanged++;
      else yield place;
    }
  }

  async function take(tried: Tried): Promise<void> {
    if ('large' in tried) return takeLarge(tried.large);
    if ('loose' in tried) return keeper.take({ broken: loose.add(tried.loose) });
    if ('gone' in tried) return void seen.delete(tried.gone.crateId);
    if ('changing' in tried)
      return log.info('crates.changing', { crate: tried.changing.crateId, locator: tried.changing.locator });
    counts['crate' in tried ? 'read' : 'broken']++;
    await keeper.take(tried);
  }

  /** In the index before the next, so that it is known whether it was this one where the process ends. */
  async function takeLarge(place: CratePlace): Promise<void> {
    await using _noted = await room.trying.begin(place);
    await take(await tryAlone(source, place, room));
    await keeper.flush();
  }

  for await (const tried of inParallel(changed(), atOnce, (place) => tryBesideOthers(source, place, room))) {
    await take(tried);
    report({ ...counts });
  }
  refuseEmptied(watched, objects, known);
  for (const broken of loose.mistaken()) await keeper.take({ broken });
  await keeper.flush();
  signal.throwIfAborted();
  const gone = [...known.keys()].filter((id) => !seen.has(id));
  await keeper.remove(gone);
  counts.removed = gone.filter((id) => isCrateStamp(known.get(id)!)).length;
  const { payload, broken, unchanged } = loose.count();
  counts.seen -= payload;
  counts.broken += broken;
  counts.unchanged += unchanged;
  return counts;
}

/** The folder that a disk is mounted on is there, and empty, while the disk is not. */
function refuseEmptied({ source }: WatchedSource, objects: number, known: ReadonlyMap<string, string>): void {
  const crates = known.values().filter(isCrateStamp).toArray().length;
  if (source.kind !== 'folder' || objects > 0 || crates === 0) return;
  throw sourceUnreachable(
    source.url,
    `It is empty although it held ${crates} ${crates === 1 ? 'crate' : 'crates'}. Is it mounted? If it is meant to ` +
      'be empty, put a file of any name into it.',
  );
}
