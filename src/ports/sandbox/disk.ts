import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { runInSlices } from '../../platform/concurrency/yield.ts';
import {
  isNearlyFull,
  leavesReserve,
  measureFreeSpace,
  type FreeSpace,
} from '../../platform/data-folder/disk-reserve.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openBelow } from '../../platform/paths/paths.ts';
import { createThread, type Thread } from '../../platform/workers/workers.ts';
import type { CountingMethods } from './counting-thread.ts';
import { createDiskShares, type DiskShare } from './disk-shares.ts';
import { countPackages } from './environments.ts';
import { getCheckpointsFolder, getReplaysFolder, type Workspace } from './sandbox.ts';
import { countUnlinkedSpace } from './unlinked.ts';

const diskLookEveryMs = 50;
const lookWhenIdleMs = 500;
/** Even if the disk is quiet, the folders are measured again after so long, and after so many times what that took. */
const measureRunEveryMs = 400;
const runMeasurePatience = 3;
/** How often the folders are measured again if the file system has filled by more than they show. */
const maxDoubts = 8;
/**
 * A measurement that takes longer says too late what a run wrote meanwhile. Until it ends, a run is also stopped where the
 * file system has filled by more than the limit and so many bytes since it began, and twice the reserve is not free.
 */
const slowMeasurementMs = 500;
const spareBytes = 256 * 1024 ** 2;
/** How much a run may write while it deletes files on a full disk. */
const tidyingBytes = 1024 ** 2;

/** What a workspace took when it was measured. */
interface MeasuredSpace {
  readonly bytes: number;
  /** What it took when that was certain, and how full its file system was then. */
  readonly certain: { readonly bytes: number; readonly used: number };
  /** When it has to be measured again. */
  readonly until: number;
  /** How often since then less was found than the file system had filled by. */
  readonly doubts: number;
}

/** The disk quota of users' folders, enforced by watching them: the kernel does not limit them. */
export interface WatchedDisk extends AsyncDisposable {
  /**
   * Call it before a run. Rejects with `quota_exceeded` if the folders are too full and runs only add to them, with
   * `storage_full` if the disk is full and the user has nothing to delete.
   */
  admit(place: Workspace): Promise<void>;
  /** Before inputs are copied in; see `Sandbox.claimDisk`. */
  claim(place: Workspace, bytes: number): Promise<Disposable>;
  /**
   * Calls `over` once when a user's folders take more than they may, or the disk is about to be full. Disposed of
   * when the run is over. While it is idle, as a session between cells, it is looked at less often.
   */
  watch(place: Workspace, over: () => void, isIdle?: () => boolean): Disposable;
}

export function createWatchedDisk(diskBytes: number, log: Log): WatchedDisk {
  const closing = new AbortController();
  const meter = createSpaceMeter(log);
  const getShare = createDiskShares(diskBytes, meter, closing.signal);
  /** What stops each run that writes to the same folders. */
  const watched = new Map<string, Set<() => void>>();
  return {
    admit: (place) => getShare(place).admit(),
    claim: (place, bytes) => getShare(place).claim(bytes),
    watch(place, over, isIdle = () => false) {
      const together = watched.get(place.workspace) ?? new Set();
      watched.set(place.workspace, together);
      const stop = (): void => void (isIdle() || over());
      together.add(stop);
      // They are over the limit together. What was too much is what may be there from then on, so nobody else would stop.
      const stopAll = (): void => {
        over();
        for (const other of together) other();
      };
      const watch = watchRun(place, getShare(place), meter, { over: stopAll, isIdle });
      return {
        [Symbol.dispose]() {
          together.delete(stop);
          if (together.size === 0) watched.delete(place.workspace);
          watch[Symbol.dispose]();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await meter[Symbol.asyncDispose]();
    },
  };
}

/**
 * Asking how full the file system is costs nothing, so that is done often. The folders are measured if it has filled by
 * so much that they could be over the limit, and now and then in any case, since others may have freed space meanwhile.
 */
function watchRun(
  place: Workspace,
  share: DiskShare,
  meter: SpaceMeter,
  { over, isIdle }: { over: () => void; isIdle: () => boolean },
): Disposable {
  const stop = new AbortController();
  const { tidyFrom } = share;
  const beganOver = share.isOver || tidyFrom !== null;
  const growth = share.isUncountable ? watchGrowth(place) : null;
  let last: MeasuredSpace | null = null;
  let wasOver = false;
  let mustStop = false;
  let usedAtStart: number | null = null;
  /** When the measurement began that is under way. */
  let measuringSince: number | null = null;

  const measure = async (used: number, most: number): Promise<void> => {
    last = await measureWorkspace(meter, place, { last: last!, used, most }, stop.signal);
    // A run may delete what cannot be counted. Until then only the file system shows whether it does.
    const isOver =
      growth !== null && last.bytes === Infinity ? (await growth()) > share.growthLeft : last.bytes > most;
    wasOver ||= isOver;
    // If it is over the limit, it is measured again after the run, which writes until it is killed.
    if (!wasOver) share.note(last.bytes);
    mustStop ||= wasOver;
    if (mustStop) over();
  };

  /** The file system is asked first, and goes on being asked while the folders are measured: that may take long. */
  const look = async () => {
    const space = await measureFreeSpace(place.workspace);
    const { usedBytes: used } = space;
    // Below the reserve nobody else could write either. A run that was admitted all the same must not write at all.
    const isFull = tidyFrom === null ? !leavesReserve(space) : isNearlyFull(space);
    const most = tidyFrom === null ? share.most : tidyFrom + tidyingBytes;
    last ??= firstGuess(used, beganOver);
    usedAtStart ??= used;
    mustStop ||= isFull || isOutrun(space, used - usedAtStart, most, measuringSince);
    if (mustStop) over();
    // Nothing else is looked at while it is idle: what it writes then fills the file system.
    const isDue = measuringSince === null && (isIdle() ? wouldBeOver : mayBeOver)(last, used, most);
    if (mustStop || !isDue) return;
    measuringSince = performance.now();
    // Folders that cannot be measured now are not the fault of the run.
    void measure(used, most)
      .catch(() => {})
      .finally(() => (measuringSince = null));
  };
  repeatLook(look, () => (isIdle() ? lookWhenIdleMs : diskLookEveryMs), stop.signal);
  return {
    [Symbol.dispose]() {
      stop.abort(runOver);
      share.settle({ beganOver, wasOver, growth });
    },
  };
}

/** Whether a run has filled the disk faster than anybody can measure. */
function isOutrun(
  space: FreeSpace,
  filledBytes: number,
  most: number,
  measuringSince: number | null,
): boolean {
  if (measuringSince === null || performance.now() - measuringSince < slowMeasurementMs) return false;
  return filledBytes > most + spareBytes && space.freeBytes < 2 * space.reserveBytes;
}

/** A reason that is made once: an abort without one makes an error each time. */
const runOver = new Error('the run is over');

/** By how many bytes the file system has filled since. */
function watchGrowth({ workspace }: Workspace): () => Promise<number> {
  const before = measureFreeSpace(workspace);
  before.catch(() => {});
  return async () => (await measureFreeSpace(workspace)).usedBytes - (await before).usedBytes;
}

/** Assumes empty folders until they are measured first: most runs have ended by then. */
function firstGuess(used: number, beganOver: boolean): MeasuredSpace {
  const until = beganOver ? 0 : performance.now() + 4 * diskLookEveryMs;
  return { bytes: 0, certain: { bytes: 0, used }, until, doubts: 0 };
}

const wouldBeOver = ({ certain }: MeasuredSpace, used: number, most: number): boolean =>
  certain.bytes + Math.max(0, used - certain.used) > most;

function mayBeOver(last: MeasuredSpace, used: number, most: number): boolean {
  return performance.now() >= last.until || (last.doubts === 0 && wouldBeOver(last, used, most));
}

/**
 * If less is found than the file system has filled by, either others have filled it, or files were moved to folders that
 * had been counted already. So it is measured some more times before the first explanation is accepted, which is never
 * accepted if runs have open what cannot be inspected.
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
  const after = (ms: number, patience: number): number => began + took + Math.max(ms, patience * took);
  const isDoubtful = bytes <= most && wouldBeOver(last, used, most);
  if (isDoubtful && last.doubts < maxDoubts)
    return {
      ...last,
      bytes,
      until: after(diskLookEveryMs, took > slowMeasurementMs ? 0 : runMeasurePatience),
      doubts: last.doubts + 1,
    };
  const certain = mayHideMore ? last.certain : { bytes, used };
  const isHidden = isDoubtful && mayHideMore;
  return {
    bytes: isHidden ? Infinity : bytes,
    certain,
    until: after(measureRunEveryMs, runMeasurePatience),
    doubts: 0,
  };
}

/** Until the signal fires. A timer of its own: most runs end before the first look, and an error to end a wait is dear. */
function repeatLook(look: () => Promise<void>, getPauseMs: () => number, signal: AbortSignal): void {
  const lookLater = (): void => {
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      // A folder that cannot be measured now is not the fault of the run.
      void look()
        .catch(() => {})
        .then(() => signal.aborted || lookLater());
    }, getPauseMs()).unref();
    const stop = (): void => clearTimeout(timer);
    signal.addEventListener('abort', stop, { once: true });
  };
  lookLater();
}

/** So many are counted in a few milliseconds. More are counted in a thread, so as not to block the event loop. */
const maxEntriesHere = 1000;
const fewDescriptors = 1000;
const countSliceMs = 2;
/** For so long after that, the thread is used at once. */
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
        const few = { mostEntries: maxEntriesHere, maxDescriptors: fewDescriptors };
        const quick = await countInSlices(countWorkspace({ place, withUnlinked, ...few }), signal);
        if (quick !== null) return quick;
        largeUntil.set(place.workspace, performance.now() + rememberLargeMs);
      }
      return thread.call('count', { place, withUnlinked }, { signal });
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

/** Yields to the event loop in between. */
export const countInSlices = <T>(steps: Generator<void, T>, signal: AbortSignal): Promise<T> =>
  runInSlices(steps, { sliceMs: countSliceMs, stepsPerLook: 1, signal });

/** What a user's folders take on disk. */
export interface WorkspaceSpace {
  /** Infinity if something cannot be counted. */
  readonly bytes: number;
  /** Runs of the user have something open that cannot be inspected, or installs something that cannot be counted. */
  readonly mayHideMore: boolean;
}

export interface CountOptions {
  readonly place: Workspace;
  /** Whether to look for deleted files that a run still has open. */
  readonly withUnlinked: boolean;
  /** Beyond these the count is given up. */
  readonly mostEntries: number;
  readonly maxDescriptors: number;
}

/** The folders of a replay are among those of its user. */
function listCountedWorkspaceFolders({ beside, ...own }: Workspace): string[] {
  const place = beside ?? own;
  const others = [getCheckpointsFolder(place), getReplaysFolder(place)];
  return [place.workspace, place.artifacts, ...others.filter((folder) => existsSync(folder))];
}

/** Counts in short steps. Null if there is more than may be counted. */
export function* countWorkspace(counting: CountOptions): Generator<void, WorkspaceSpace | null> {
  const { place, withUnlinked, mostEntries, maxDescriptors } = counting;
  let bytes = 0;
  let packagesMayHide = false;
  const folders = listCountedWorkspaceFolders(place);
  for (const folder of folders) {
    const space = yield* openBelow(folder).space(mostEntries);
    if (space.isCut) return null;
    bytes += space.bytes;
  }
  if (place.packages !== null) {
    const space = yield* countPackages(place.packages, mostEntries);
    if (space.isCut) return null;
    bytes += space.bytes;
    packagesMayHide = space.mayHideMore;
  }
  if (!withUnlinked || bytes === Infinity) return { bytes, mayHideMore: packagesMayHide };
  const unlinked = yield* countUnlinkedSpace(place, maxDescriptors);
  if (unlinked.isCut) return null;
  return { bytes: bytes + unlinked.bytes, mayHideMore: packagesMayHide || unlinked.mayHideMore };
}
