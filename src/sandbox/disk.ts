import { extname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { runInSlices } from '../concurrency/yield.ts';
import { isNearlyFull, leavesReserve, measureFreeSpace } from '../data-folder/disk-reserve.ts';
import type { Log } from '../observability/log.ts';
import { openBelow } from '../paths/paths.ts';
import { createThread, type Thread } from '../workers/workers.ts';
import type { CountingMethods } from './counting-thread.ts';
import { createDiskShares, type DiskShare } from './disk-shares.ts';
import type { Workspace } from './sandbox.ts';
import { countUnlinkedSpace } from './unlinked.ts';

const lookEveryMs = 50;
/** However quiet the disk is, the folders are measured again after so long, and after so many times what that took. */
const measureRunEveryMs = 400;
const runMeasurePatience = 3;
/** So often the folders are measured again where the file system has filled by more than they show. */
const mostDoubts = 8;
/** Whoever tidies up a full disk may write so much. */
const tidyingBytes = 1024 ** 2;

/** What a place took when it was measured. */
interface MeasuredSpace {
  readonly bytes: number;
  /** What it took when that was certain, and how full its file system was then. */
  readonly certain: { readonly bytes: number; readonly used: number };
  /** When it has to be measured again. */
  readonly until: number;
  /** How often less was found since than the file system had filled by. */
  readonly doubts: number;
}

/** The folders of users, which are watched: the kernel does not limit them. */
export interface WatchedDisk extends AsyncDisposable {
  /**
   * Before a run. Rejects with `quota_exceeded` where too much is there and runs only add to it, with `storage_full`
   * where the disk is full and the user has nothing to delete.
   */
  admit(place: Workspace): Promise<void>;
  /** Before inputs are copied in; see `Sandbox.claimDisk`. */
  claim(place: Workspace, bytes: number): Promise<Disposable>;
  /**
   * Calls `over` once when a user's folders take more than they may, or the disk is about to be full. Disposed of
   * when the run is over.
   */
  watch(place: Workspace, over: () => void): Disposable;
}

export function createWatchedDisk(diskBytes: number, log: Log): WatchedDisk {
  const closing = new AbortController();
  const meter = createSpaceMeter(log);
  const getShare = createDiskShares(diskBytes, meter, closing.signal);
  return {
    admit: (place) => getShare(place).admit(),
    claim: (place, bytes) => getShare(place).claim(bytes),
    watch: (place, over) => watchRun(place, getShare(place), meter, over),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await meter[Symbol.asyncDispose]();
    },
  };
}

/**
 * Asking how full the file system is costs nothing, so that is done often; the folders are measured when it has
 * filled by so much that it could have been them, and now and then in any case, since others may have made room
 * meanwhile.
 */
function watchRun(place: Workspace, share: DiskShare, meter: SpaceMeter, over: () => void): Disposable {
  const stop = new AbortController();
  const { tidyFrom } = share;
  const beganOver = share.isOver || tidyFrom !== null;
  const growth = share.isUncountable ? watchGrowth(place) : null;
  let last: MeasuredSpace | null = null;
  let wasOver = false;
  let mustStop = false;

  const look = async () => {
    const space = await measureFreeSpace(place.workspace);
    const { usedBytes: used } = space;
    // Below the reserve nobody else could write either. Who was let in all the same must not write at all.
    const isFull = tidyFrom === null ? !leavesReserve(space) : isNearlyFull(space);
    const most = tidyFrom === null ? share.most : tidyFrom + tidyingBytes;
    last ??= firstGuess(used, beganOver);
    if (isFull || mayBeOver(last, used, most)) {
      last = await measureWorkspace(meter, place, { last, used, most }, stop.signal);
      // Whoever has what cannot be counted may delete it. Until then only the file system tells whether they do.
      const isOver =
        growth !== null && last.bytes === Infinity ? (await growth()) > share.growthLeft : last.bytes > most;
      wasOver ||= isOver;
      // What is over is measured once more when the run has ended, since it writes until it is killed.
      if (!wasOver) share.note(last.bytes);
    }
    mustStop ||= isFull || wasOver;
    if (mustStop) over();
  };
  void repeatLook(look, stop.signal);
  return {
    [Symbol.dispose]() {
      stop.abort();
      share.settle({ beganOver, wasOver, growth });
    },
  };
}

/** By how many bytes the file system has filled since. */
function watchGrowth({ workspace }: Workspace): () => Promise<number> {
  const before = measureFreeSpace(workspace);
  before.catch(() => {});
  return async () => (await measureFreeSpace(workspace)).usedBytes - (await before).usedBytes;
}

/** As if it had been empty, until the first measuring: most runs are over by then. */
function firstGuess(used: number, beganOver: boolean): MeasuredSpace {
  const until = beganOver ? 0 : performance.now() + 4 * lookEveryMs;
  return { bytes: 0, certain: { bytes: 0, used }, until, doubts: 0 };
}

const wouldBeOver = ({ certain }: MeasuredSpace, used: number, most: number): boolean =>
  certain.bytes + Math.max(0, used - certain.used) > most;

function mayBeOver(last: MeasuredSpace, used: number, most: number): boolean {
  return performance.now() >= last.until || (last.doubts === 0 && wouldBeOver(last, used, most));
}

/**
 * Where less is found than the file system has filled by, others may have filled it, or files were moved to where the
 * count had been already. So it is measured some more times before the first is believed; and that is never believed
 * where runs hold what cannot be looked into.
 */
async function measureWorkspace(
  meter: SpaceMeter,
  place: Workspace,
  { last, used, most }: { last: MeasuredSpace; used: number; most: number },
  signal: AbortSignal,
): Promise<MeasuredSpace> {
  const began = performance.now();
  const { bytes, mayHideMore } = await meter.measure(place, { withUnlinked: true, signal });
  const took = performance.now() - began;
  const after = (ms: number): number => began + took + Math.max(ms, runMeasurePatience * took);
  const isDoubtful = bytes <= most && wouldBeOver(last, used, most);
  if (isDoubtful && last.doubts < mostDoubts)
    return { ...last, bytes, until: after(lookEveryMs), doubts: last.doubts + 1 };
  const certain = mayHideMore ? last.certain : { bytes, used };
  const isHidden = isDoubtful && mayHideMore;
  return { bytes: isHidden ? Infinity : bytes, certain, until: after(measureRunEveryMs), doubts: 0 };
}

async function repeatLook(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await setTimeout(lookEveryMs, null, { signal, ref: false });
      await look();
    } catch {
      // Stopped, or a folder that cannot be measured now; that is not the fault of the run.
      if (signal.aborted) return;
    }
  }
}

/** So many are counted in a few milliseconds. More are counted in a thread, so that nobody waits for it. */
const maxEntriesHere = 1000;
const fewDescriptors = 1000;
const countSliceMs = 2;
/** Where there was more, it is counted there at once for so long. */
const rememberLargeMs = 10_000;

export interface MeasureOptions {
  readonly withUnlinked: boolean;
  readonly signal: AbortSignal;
}

/** Measures what users' folders take. */
export interface SpaceMeter extends AsyncDisposable {
  measure(place: Workspace, measuring: MeasureOptions): Promise<WorkspaceSpace>;
}

function createSpaceMeter(log: Log): SpaceMeter {
  const file = new URL(`./counting-thread${extname(import.meta.filename)}`, import.meta.url);
  const thread: Thread<CountingMethods> = createThread(file, null, log);
  const largeUntil = new Map<string, number>();
  return {
    async measure(place, { withUnlinked, signal }) {
      if (performance.now() >= (largeUntil.get(place.workspace) ?? 0)) {
        const few = { mostEntries: maxEntriesHere, mostDescriptors: fewDescriptors };
        const quick = await countInSlices(countWorkspace({ place, withUnlinked, ...few }), signal);
        if (quick !== null) return quick;
        largeUntil.set(place.workspace, performance.now() + rememberLargeMs);
      }
      return thread.call('count', { place, withUnlinked }, { signal });
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

/** Lets others do their work in between. */
export const countInSlices = <T>(steps: Generator<void, T>, signal: AbortSignal): Promise<T> =>
  runInSlices(steps, { sliceMs: countSliceMs, stepsPerLook: 1, signal });

/** What a user's folders take on disk. */
export interface WorkspaceSpace {
  /** Infinity where something cannot be counted. */
  readonly bytes: number;
  /** Runs of the user hold something that cannot be looked into. */
  readonly mayHideMore: boolean;
}

export interface CountOptions {
  readonly place: Workspace;
  /** Whether to look for files that have no name any more, which only runs under way can hold. */
  readonly withUnlinked: boolean;
  /** Beyond these the count is given up. */
  readonly mostEntries: number;
  readonly mostDescriptors: number;
}

/** Counts in short steps. Null where there is more than may be looked at. */
export function* countWorkspace(counting: CountOptions): Generator<void, WorkspaceSpace | null> {
  const { place, withUnlinked, mostEntries, mostDescriptors } = counting;
  let bytes = 0;
  for (const folder of [place.workspace, place.artifacts]) {
    const space = yield* openBelow(folder).space(mostEntries);
    if (space.isCut) return null;
    bytes += space.bytes;
  }
  if (!withUnlinked || bytes === Infinity) return { bytes, mayHideMore: false };
  const unlinked = yield* countUnlinkedSpace(place, mostDescriptors);
  return unlinked.isCut ? null : { bytes: bytes + unlinked.bytes, mayHideMore: unlinked.mayHideMore };
}
