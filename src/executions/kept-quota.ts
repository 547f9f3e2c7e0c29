/**
 * When kept results have to make room: for their user's folders, which share a quota with them, and for the disk. Which of
 * them go, and how, is in `kept-results.ts`.
 */
import { dirname } from 'node:path';
import { measureFreeSpace, type FreeSpace } from '../data-folder/disk-reserve.ts';
import type { Log } from '../observability/log.ts';
import type { Workspace } from '../sandbox/sandbox.ts';

/** How often the disk is looked at while code runs, and how long an answer is valid. */
const lookAtDiskMs = 1000;
/** A user's folders are measured again after so long, and after so many times what that took. */
const measureUserMs = 5000;
const measurePatience = 20;

export interface KeptQuotaOptions {
  /** What is kept of a user, and what the user's folders leave of their quota for that. */
  readonly measure: (owner: string) => Promise<{ readonly kept: number; readonly most: number }>;
  /** The oldest of a user, until so many bytes are free again. */
  readonly dropOldest: (owner: string, bytes: number) => Promise<void>;
  readonly log: Log;
}

/** Looks in the background at users who have kept something: nobody waits for that. */
export function createKeptQuota({ measure, dropOldest, log }: KeptQuotaOptions) {
  const timers = new Map<string, NodeJS.Timeout>();
  const trimming = new Map<string, Promise<void>>();
  /** How long a user's folders took to measure, in milliseconds. */
  const took = new Map<string, number>();

  async function trim(owner: string): Promise<void> {
    const began = performance.now();
    const { kept, most } = await measure(owner);
    took.set(owner, performance.now() - began);
    if (kept > most) await dropOldest(owner, kept - most);
  }

  function trimNow(owner: string): Promise<void> {
    const done = (trimming.get(owner) ?? Promise.resolve())
      .then(() => trim(owner))
      .catch((error: unknown) => log.error('execution.kept_results_not_trimmed', { user: owner, error }))
      .finally(() => trimming.get(owner) === done && trimming.delete(owner));
    trimming.set(owner, done);
    return done;
  }

  return {
    trimSoon(owner: string): void {
      if (timers.has(owner)) return;
      const pauseMs = Math.max(measureUserMs, measurePatience * (took.get(owner) ?? 0));
      const timer = setTimeout(() => {
        timers.delete(owner);
        void trimNow(owner);
      }, pauseMs).unref();
      timers.set(owner, timer);
    },

    /** Does now what would be done soon. */
    async trimAll(): Promise<void> {
      for (const [owner, timer] of timers) {
        clearTimeout(timer);
        timers.delete(owner);
        await trimNow(owner);
      }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(trimming.values());
    },
  };
}

/**
 * Looks at the disk of the users' folders while code runs. Kept bytes stay away from the reserve by as much as that has,
 * so that no run ends because of them.
 */
export function createDiskWatch(log: Log, makeRoom: (missing: number) => Promise<void>) {
  let folder: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<void> | null = null;
  let seen: { readonly space: FreeSpace; readonly until: number; spent: number } | null = null;

  async function measure(): Promise<NonNullable<typeof seen>> {
    if (seen === null || performance.now() > seen.until) {
      const space = await measureFreeSpace(folder!);
      seen = { space, until: performance.now() + lookAtDiskMs, spent: 0 };
    }
    return seen;
  }

  async function makeRoomIfFull(): Promise<void> {
    seen = null;
    const missing = countMissing((await measure()).space, 0);
    if (missing > 0) await makeRoom(missing);
  }

  function look(): Promise<void> {
    if (folder === null) return Promise.resolve();
    looking ??= makeRoomIfFull()
      .catch((error: unknown) => log.warn('execution.disk_not_measured', { error }))
      .finally(() => (looking = null));
    return looking;
  }

  return {
    look,

    watch(place: Workspace, isBusy: () => boolean): void {
      folder ??= dirname(place.workspace);
      timer ??= setInterval(() => {
        if (isBusy()) void look();
        else {
          clearInterval(timer!);
          timer = null;
        }
      }, lookAtDiskMs).unref();
    },

    /** Where there is none, older kept bytes go first. */
    async hasRoom(place: Workspace, bytes: number): Promise<boolean> {
      folder ??= dirname(place.workspace);
      const now = await measure();
      now.spent += bytes;
      const missing = countMissing(now.space, now.spent);
      if (missing <= 0) return true;
      await makeRoom(missing);
      seen = null;
      return countMissing((await measure()).space, bytes) <= 0;
    },

    stop(): void {
      clearInterval(timer ?? undefined);
    },
  };
}

/** How many bytes are missing to twice the reserve; where files are, as many as a run can have. */
function countMissing({ freeBytes, reserveBytes, inodes }: FreeSpace, bytesToCome: number): number {
  const bytes = 2 * reserveBytes + bytesToCome - freeBytes;
  return inodes !== null && inodes.free < 2 * inodes.reserve ? Math.max(bytes, 1) : bytes;
}
