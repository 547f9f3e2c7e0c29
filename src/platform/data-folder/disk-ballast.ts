/**
 * Keeps a file that is deleted when the disk is full, so that the database can still write down what frees space. It is
 * the last resort after `disk-reserve.ts`.
 */
import { randomBytes } from 'node:crypto';
import { statSync, unlinkSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { getErrno } from '../errors.ts';
import type { Log } from '../observability/log.ts';
import { leavesReserve, measureFreeSpace } from './disk-reserve.ts';

/** The ballast is 1/32 of a file system, and no more than 8 MB: twice what the write-ahead log of SQLite grows to. */
const ballastShare = 1 / 32;
const maxBallastBytes = 8 * 1024 ** 2;
const restoreEveryMs = 60_000;

/**
 * A file without meaning that is given up when the disk is full, so that there is space to write down what frees more:
 * deletions, revocations, the sweep. The reserve is for what Workcrate writes; this is for when others fill the disk.
 */
export interface Ballast extends Disposable {
  /** Gives its space up: whether there was any. In the thread, since the database asks for it in the middle of a query. */
  giveUp(): boolean;
  /** Makes it, where it is missing and there is space for it beside the reserve. */
  restore(): Promise<void>;
}

export function createBallast(folder: string, path: string, log: Log): Ballast {
  async function restore(): Promise<void> {
    if (doesExist(path)) return;
    const space = await measureFreeSpace(folder);
    const total = space.usedBytes + space.freeBytes;
    const bytes = Math.min(maxBallastBytes, Math.floor(total * ballastShare));
    if (!leavesReserve(space, bytes)) return;
    await writeBallast(path, bytes);
  }
  const restoreSoon = (): void =>
    void restore().catch((error: unknown) => log.warn('disk.ballast_failed', { error }));
  const timer = setInterval(restoreSoon, restoreEveryMs).unref();
  return {
    restore,
    giveUp() {
      try {
        unlinkSync(path);
        log.warn('disk.ballast_given_up', { because: 'the disk of the database is full' });
        return true;
      } catch (error) {
        if (getErrno(error) === 'ENOENT') return false;
        throw error;
      }
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

const doesExist = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/** Random, since some file systems store zeros as nothing. Under another name until it is whole. */
async function writeBallast(path: string, bytes: number): Promise<void> {
  const part = `${path}.part`;
  try {
    await using file = await open(part, 'w', 0o600);
    await file.writeFile(randomBytes(bytes));
    await file.sync();
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
