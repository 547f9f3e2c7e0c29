/**
 * Leaves a part of the disk free, so that deleting always works: writers ask or claim space first. It cannot keep other
 * programs from filling the disk (`disk-ballast.ts` is for that), and knows no quotas of users (`core/files/` does).
 */
import { stat, statfs } from 'node:fs/promises';
import { WorkcrateError } from '../errors.ts';

/** The reserve is 2 % of a file system, and no more than 1 GB of it. */
const reserveShare = 0.02;
const maxReserveBytes = 1024 ** 3;

/** How full a file system is, and how much of it is kept free. */
export interface FreeSpace {
  readonly usedBytes: number;
  readonly freeBytes: number;
  readonly reserveBytes: number;
  /** Null where the file system has no fixed number of inodes, such as btrfs. */
  readonly inodes: { readonly free: number; readonly reserve: number } | null;
}

/** Asks the kernel, which takes microseconds. Rejects as `statfs` does, such as with ENOENT. */
export async function measureFreeSpace(folder: string): Promise<FreeSpace> {
  const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(folder);
  return {
    usedBytes: (blocks - bfree) * bsize,
    // Some file systems do not say how large they are. Those are never full.
    freeBytes: blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize,
    reserveBytes: Math.min(maxReserveBytes, Math.floor(blocks * bsize * reserveShare)),
    inodes: files === 0 ? null : { free: ffree, reserve: Math.floor(files * reserveShare) },
  };
}

/** Whether the reserve is still free once `bytesToCome` have been written. */
export function leavesReserve(space: FreeSpace, bytesToCome = 0): boolean {
  const { freeBytes, reserveBytes, inodes } = space;
  return freeBytes - bytesToCome >= reserveBytes && (inodes === null || inodes.free >= inodes.reserve);
}

/** Whether even half of the reserve is gone. */
export function isNearlyFull({ freeBytes, reserveBytes, inodes }: FreeSpace): boolean {
  return freeBytes < reserveBytes / 2 || (inodes !== null && inodes.free < inodes.reserve / 2);
}

/** Whether `bytesToCome` can be written to the folder's file system so that the reserve is left free. */
export async function hasReserve(folder: string, bytesToCome = 0): Promise<boolean> {
  return leavesReserve(await measureFreeSpace(folder), bytesToCome);
}

/** Bytes that this process is about to write, by the device that they go to. */
const claimedBytes = new Map<number, number>();

/**
 * Claims space for bytes that are about to be written, so that several writers do not pass together what one alone
 * could not. Null where the reserve would not be left. Dispose of the claim once the bytes are written, or will
 * not be. Until then what is written already counts twice, which errs on the safe side.
 */
export async function claimSpace(folder: string, bytes: number): Promise<Disposable | null> {
  const [space, { dev }] = await Promise.all([measureFreeSpace(folder), stat(folder)]);
  const claimed = claimedBytes.get(dev) ?? 0;
  if (!leavesReserve(space, claimed + bytes)) return null;
  claimedBytes.set(dev, claimed + bytes);
  let isClaimed = true;
  return {
    [Symbol.dispose]() {
      if (!isClaimed) return;
      isClaimed = false;
      const left = claimedBytes.get(dev)! - bytes;
      if (left === 0) claimedBytes.delete(dev);
      else claimedBytes.set(dev, left);
    },
  };
}

/** Rejects with `storage_full` where `bytesToCome` would not leave the reserve. */
export async function checkSpace(folder: string, bytesToCome = 0): Promise<void> {
  const space = await measureFreeSpace(folder);
  if (!leavesReserve(space, bytesToCome)) throw outOfSpaceError(space);
}

/** The error for bytes that would not leave the reserve. */
function outOfSpaceError({ inodes }: FreeSpace): WorkcrateError {
  const reason =
    inodes !== null && inodes.free < inodes.reserve
      ? 'The disk of the server can hold almost no more files, however small: its inodes are used up.'
      : 'The disk of the server is almost full, and this would take the space that it keeps free for deleting.';
  return new WorkcrateError(
    'storage_full',
    `${reason} Nothing was kept. Delete files that are no longer needed (delete_file), or ask the operator to free some ` +
      'space, then try again.',
  );
}

/** Bytes are claimed so far ahead at most, as many again as were claimed before: the kernel is asked seldom. */
const maxReservedAhead = 16 * 1024 ** 2;

/** Claims space for a stream of bytes while it is written. Dispose at its end. */
export function createSpaceClaim(folder: string) {
  let claim: Disposable | null = null;
  let [left, ahead] = [0, 0];
  const next = async (bytes: number): Promise<Disposable | null> => {
    ahead = Math.max(bytes, Math.min(maxReservedAhead, 2 * ahead));
    const claimed = await claimSpace(folder, ahead);
    if (claimed !== null || ahead === bytes) return claimed;
    ahead = bytes;
    return claimSpace(folder, bytes);
  };
  return {
    /** Before so many bytes are written. Rejects with `storage_full` where they would not leave the reserve. */
    async demand(bytes: number): Promise<void> {
      if (bytes > left) {
        claim?.[Symbol.dispose]();
        claim = await next(bytes);
        if (claim === null) throw outOfSpaceError(await measureFreeSpace(folder));
        left = ahead;
      }
      left -= bytes;
    },
    [Symbol.dispose]: (): void => claim?.[Symbol.dispose](),
  };
}
