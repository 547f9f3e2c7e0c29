/**
 * How much may be kept of results: a share for each user, beside what the user's folders may take, and never what the
 * disk needs. So kept bytes cost no run its quota, and go when the disk fills. Which of them go is in `kept-results.ts`.
 */
import { dirname } from 'node:path';
import { createKeyedMutex } from '../concurrency/mutex.ts';
import { measureFreeSpace, type FreeSpace } from '../data-folder/disk-reserve.ts';
import type { Log } from '../observability/log.ts';
import type { Workspace } from '../sandbox/sandbox.ts';

/** How often the disk is looked at while code runs. */
const lookEveryMs = 1000;
/** Of what the folders of a user may take, as much again may be kept. */
const shareOfDisk = 0.1;

export interface KeptQuotaOptions {
  /** What the folders of a user may take. */
  readonly diskBytes: number;
  /** What is kept of a user, as the rows say. */
  readonly countKept: (owner: string) => Promise<number>;
  /** The oldest of a user, or of all, until so many bytes are free again. */
  readonly dropOldest: (owner: string | null, bytes: number) => Promise<void>;
  /** Whether code runs. */
  readonly isBusy: () => boolean;
  readonly log: Log;
}

export function createKeptQuota({ diskBytes, countKept, dropOldest, isBusy, log }: KeptQuotaOptions) {
  const shareBytes = Math.floor(diskBytes * shareOfDisk);
  /** Bytes that are being kept, of which no row says so yet, by user. */
  const underWay = new Map<string, number>();
  const inTurn = createKeyedMutex();
  let folder: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<unknown> = Promise.resolve();

  async function fitShare(owner: string, bytes: number): Promise<void> {
    const excess = (await countKept(owner)) + (underWay.get(owner) ?? 0) + bytes - shareBytes;
    if (excess > 0) await dropOldest(owner, excess);
  }

  /** Whether so many bytes fit on the disk, once the oldest results have gone where they must. */
  async function makeRoom(place: Workspace | string, bytes: number): Promise<boolean> {
    const where = typeof place === 'string' ? place : dirname(place.workspace);
    const missing = countMissing(await measureFreeSpace(where), bytes);
    if (missing <= 0) return true;
    await dropOldest(null, missing);
    return countMissing(await measureFreeSpace(where), bytes) <= 0;
  }

  async function look(): Promise<void> {
    if (folder === null) return;
    await makeRoom(folder, 0).catch((error: unknown) =>
      log.error('execution.kept_results_not_trimmed', { error }),
    );
  }

  const addUnderWay = (owner: string, bytes: number): void => {
    const sum = (underWay.get(owner) ?? 0) + bytes;
    if (sum > 0) underWay.set(owner, sum);
    else underWay.delete(owner);
  };

  return {
    shareBytes,
    makeRoom,

    /** Code is about to run: the disk is looked at until none does. */
    watch(place: Workspace): void {
      folder = dirname(place.workspace);
      timer ??= setInterval(() => {
        if (isBusy()) looking = looking.then(look);
        else {
          clearInterval(timer!);
          timer = null;
        }
      }, lookEveryMs).unref();
    },

    /** So many bytes are about to be kept; null where there is no room. To be released when the row says so. */
    claim(owner: string, place: Workspace, bytes: number): Promise<Disposable | null> {
      return inTurn(owner, async () => {
        await fitShare(owner, bytes);
        if (!(await makeRoom(place, bytes))) return null;
        addUnderWay(owner, bytes);
        return { [Symbol.dispose]: () => addUnderWay(owner, -bytes) };
      });
    },

    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer ?? undefined);
      await looking;
    },
  };
}

/**
 * How many bytes are missing to twice the reserve, which kept results leave free: no run and no upload ends because of
 * them. Where inodes are missing, something has to go too.
 */
function countMissing({ freeBytes, reserveBytes, inodes }: FreeSpace, bytesToCome: number): number {
  const bytes = 2 * reserveBytes + bytesToCome - freeBytes;
  return inodes !== null && inodes.free < 2 * inodes.reserve ? Math.max(bytes, 1) : bytes;
}
