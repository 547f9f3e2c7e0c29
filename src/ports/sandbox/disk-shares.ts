import {
  claimSpace,
  isNearlyFull,
  leavesReserve,
  measureFreeSpace,
} from '../../platform/data-folder/disk-reserve.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { formatBytes } from '../../platform/text/text.ts';
import type { WorkspaceSpace, SpaceMeter } from './disk.ts';
import type { Workspace } from './sandbox.ts';

/**
 * After a run the folders are measured again after so long, or sooner if the file system has filled by so much that they
 * could be too large; and never before so many times what the last measurement took.
 */
const measureShareEveryMs = 2000;
const measureSoonMs = 400;
const measurePatience = 10;
/** How many runs may add to folders that are too full already, before no more are started. */
const maxAdding = 3;
/**
 * The file system may fill by so much during runs in folders that cannot be counted, all of them together. Others
 * fill it too meanwhile, so it cannot be little.
 */
const allowGrowth = (diskBytes: number): number => Math.max(64 * 1024 ** 2, diskBytes / 16);
/** How long an answer of the file system is valid. */
const freeSpaceMs = 100;
/** A user with less than this has nothing to delete when the disk is full. */
const worthTidying = 1024 ** 2;

/** What is known of a user's folders from one run to the next. */
interface KnownShare {
  /** As last measured; Infinity if something cannot be counted. */
  bytes: number;
  /** The limit, or what was there already: a user over the limit may delete, but not add. */
  most: number;
  /** Runs that added to it all the same. */
  adding: number;
  /** By how much the file system filled during runs in these folders since they cannot be counted. */
  growth: number;
  /** What was there when the latest run was admitted although the disk was full; null if it was not. */
  tidyFrom: number | null;
  /** Inputs that are being copied in. */
  underWay: number;
  /** After a run, they are measured again from this moment on. */
  due: number;
  /** Or from this moment on, where they could be too large. */
  dueIfGrown: number;
  /** How full the file system was when it was last asked, and when they were measured. */
  used: number;
  usedWhenMeasured: number;
  /** When the file system has to be asked again whether it is full. */
  askAt: number;
  /** The measurement under way after runs ended. */
  settled: Promise<void>;
  /** Inputs are admitted one after the other. */
  admitted: Promise<unknown>;
}

/** A user's folders, and what they may take. */
export interface DiskShare {
  readonly most: number;
  readonly isOver: boolean;
  /** Whether they hold something that cannot be counted, such as a folder that is closed to the server. */
  readonly isUncountable: boolean;
  /** By how much the file system may fill during a run while that is so. */
  readonly growthLeft: number;
  /** See `KnownShare`. */
  readonly tidyFrom: number | null;
  /** Records a measurement. */
  note(bytes: number): void;
  /**
   * Call it before a run. Folders that were too full are measured again, since somebody may have deleted files. Rejects
   * with `quota_exceeded` if runs have added to them again and again, each before it could be stopped, and with
   * `storage_full` if the disk is full and this user can do nothing about it.
   */
  admit(): Promise<void>;
  /**
   * Call it before inputs are copied in. Rejects with `quota_exceeded` if they do not fit, with `storage_full` if the disk
   * would be too full for others. They count as being there until the claim is disposed of. With 0 bytes, only the disk
   * is checked, as by `admit`.
   */
  claim(bytes: number): Promise<Disposable>;
  /**
   * After a run, in the background. Short runs are over before anybody looks at what they write, so it is looked at
   * now and then between them, and always where there was too much already.
   */
  settle(run: EndedRunSpace): void;
}

export interface EndedRunSpace {
  readonly beganOver: boolean;
  readonly wasOver: boolean;
  /** By how much the file system has filled since its start; null where the folders could be counted then. */
  readonly growth: (() => Promise<number>) | null;
}

/** The shares of all users. One is kept for everyone who ever ran something. */
export function createDiskShares(
  diskBytes: number,
  meter: SpaceMeter,
  signal: AbortSignal,
): (place: Workspace) => DiskShare {
  const shares = new Map<string, DiskShare>();
  return (place) => {
    const share =
      shares.get(place.workspace) ??
      openShare(place, diskBytes, () => meter.measure(place, { withUnlinked: false, signal }));
    shares.set(place.workspace, share);
    return share;
  };
}

function createUnmeasuredShare(diskBytes: number): KnownShare {
  return {
    bytes: 0,
    most: diskBytes,
    adding: 0,
    growth: 0,
    tidyFrom: null,
    underWay: 0,
    due: 0,
    dueIfGrown: 0,
    used: 0,
    usedWhenMeasured: 0,
    askAt: 0,
    settled: Promise.resolve(),
    admitted: Promise.resolve(),
  };
}

/** Measures a user's folders, and knows when that has to be done again. */
function createShareMeter(known: KnownShare, diskBytes: number, measurePlace: () => Promise<WorkspaceSpace>) {
  const isOver = (): boolean => known.bytes > diskBytes;

  const note = (bytes: number): void => {
    known.bytes = bytes;
    if (!isOver()) known.adding = 0;
    if (!Number.isFinite(bytes)) return;
    known.most = Math.max(diskBytes, bytes);
    known.growth = 0;
  };
  const measure = async (): Promise<void> => {
    const began = performance.now();
    const { used } = known;
    // If they cannot be measured now, the last measurement stays valid.
    const space = await measurePlace().catch(() => null);
    if (space !== null) note(space.bytes);
    known.usedWhenMeasured = used;
    const ended = performance.now();
    const rest = measurePatience * (ended - began);
    known.due = ended + Math.max(measureShareEveryMs, rest);
    known.dueIfGrown = ended + Math.max(measureSoonMs, rest);
  };
  /** Assumes that this user wrote everything by which the file system has filled since. */
  const mayBeOver = (): boolean =>
    known.bytes + Math.max(0, known.used - known.usedWhenMeasured) > known.most;
  const isDue = (): boolean => performance.now() >= (mayBeOver() ? known.dueIfGrown : known.due);

  return { isOver, note, measure, isDue };
}

function openShare(
  place: Workspace,
  diskBytes: number,
  measurePlace: () => Promise<WorkspaceSpace>,
): DiskShare {
  const known = createUnmeasuredShare(diskBytes);
  const { isOver, note, measure, isDue } = createShareMeter(known, diskBytes, measurePlace);

  const measureAfterRun = async (
    earlier: Promise<void>,
    { beganOver, wasOver, growth }: EndedRunSpace,
  ): Promise<void> => {
    const grown = growth?.().catch(() => Infinity) ?? null;
    await earlier;
    const { most } = known;
    await measure();
    if (!beganOver || !isOver()) return;
    if (grown !== null && known.bytes === Infinity) known.growth += Math.max(0, await grown);
    const hasAdded = grown === null ? known.bytes > most : known.growth > allowGrowth(diskBytes);
    if (wasOver || hasAdded) known.adding++;
  };

  /** If the disk is full, only users with something to delete are admitted, and only while a little space is left. */
  const demandRoom = async (): Promise<void> => {
    if (performance.now() < known.askAt) return;
    const space = await measureFreeSpace(place.workspace);
    known.used = space.usedBytes;
    known.tidyFrom = null;
    if (leavesReserve(space)) {
      known.askAt = performance.now() + freeSpaceMs;
      return;
    }
    await measure();
    if (isNearlyFull(space) || known.bytes < worthTidying) throw diskFullError();
    known.tidyFrom = known.bytes;
  };

  const claim = async (bytes: number): Promise<Disposable> => {
    await known.settled;
    // Bytes that are copied during the measurement may be counted twice.
    const { underWay } = known;
    const { bytes: there } = await measurePlace();
    note(there);
    if (there + underWay + bytes > diskBytes) throw inputsTooLargeError(there + underWay, bytes, diskBytes);
    const space = await claimSpace(place.workspace, bytes);
    if (space === null) throw diskFullError();
    known.underWay += bytes;
    return {
      [Symbol.dispose]() {
        known.underWay -= bytes;
        space[Symbol.dispose]();
      },
    };
  };

  return {
    get most() {
      return known.most;
    },
    get isOver() {
      return isOver();
    },
    get isUncountable() {
      return known.bytes === Infinity;
    },
    get growthLeft() {
      return allowGrowth(diskBytes) - known.growth;
    },
    get tidyFrom() {
      return known.tidyFrom;
    },
    note,
    async admit() {
      await demandRoom();
      if (!isOver()) return;
      await known.settled;
      await measure();
      if (isOver() && known.adding >= maxAdding) throw quotaExceededError(known.bytes, diskBytes);
    },
    async claim(bytes) {
      if (bytes === 0) {
        await demandRoom();
        return nothingClaimed;
      }
      const claimed = known.admitted.then(() => claim(bytes));
      known.admitted = claimed.catch(() => {});
      return claimed;
    },
    settle(run) {
      const { beganOver, wasOver } = run;
      if (!beganOver && !wasOver && !isDue()) return;
      // One at a time; a run that starts meanwhile in folders that were too full waits for it.
      known.due = known.dueIfGrown = Number.POSITIVE_INFINITY;
      if (wasOver) known.bytes = Number.POSITIVE_INFINITY;
      known.settled = measureAfterRun(known.settled, run);
    },
  };
}

const nothingClaimed: Disposable = { [Symbol.dispose]() {} };

const describeTakenSpace = (bytes: number): string =>
  Number.isFinite(bytes)
    ? `take ${formatBytes(bytes)}`
    : 'contain something that the server cannot measure, such as a folder without permission';

function quotaExceededError(bytes: number, diskBytes: number): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `Your /workspace and /artifacts ${describeTakenSpace(bytes)}, and may take ${formatBytes(diskBytes)}. Runs that could have deleted files added more, so none is started until the operator has made room (docs/reference/limits.md).`,
    { details: { disk_bytes: diskBytes } },
  );
}

function inputsTooLargeError(there: number, bytes: number, diskBytes: number): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `The inputs of this run take ${formatBytes(bytes)}, but your /workspace and /artifacts ${describeTakenSpace(there)} already, and may take ${formatBytes(diskBytes)}. Nothing was copied. Delete what you do not need, such as folders of earlier runs (execute_bash: rm -rf /workspace/exec_*), or set working_dir to the folder where the input already is.`,
    { details: { disk_bytes: diskBytes, taken_bytes: Number.isFinite(there) ? there : -1 } },
  );
}

function diskFullError(): WorkcrateError {
  return new WorkcrateError(
    'storage_full',
    "The server's disk is full except for its reserve, so the run was not started and nothing was copied. Delete files of yours (delete_file), or ask the operator to make room (docs/reference/limits.md).",
  );
}
