/**
 * Whether the server can do its work: the database and the store answer within some seconds, and the disk has its
 * reserve. Each is asked at the same time. How the answer is told is in `surfaces/http/app.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { leavesReserve, measureFreeSpace } from '../platform/data-folder/disk-reserve.ts';
import { WorkcrateError, type ErrorCode } from '../platform/errors.ts';
import { formatBytes } from '../platform/text/text.ts';

/** A load balancer asks every few seconds, and gives up at about that time. */
const mostMs = 5000;

export interface ReadinessProbes {
  /** Rejects while nothing can be recorded. */
  readonly database: () => Promise<void>;
  /** Rejects while nothing can be stored. */
  readonly storage: () => Promise<void>;
  /** Folders on this machine that are written to. */
  readonly folders: readonly string[];
}

/** Rejects with the first reason why the server is not ready. */
export async function demandReadiness({ database, storage, folders }: ReadinessProbes): Promise<void> {
  await Promise.all([
    demandAnswer(database(), 'database_failed', 'The database'),
    demandAnswer(storage(), 'storage_failed', 'The store'),
    ...folders.map(demandReserve),
  ]);
}

async function demandAnswer(probe: Promise<void>, code: ErrorCode, name: string): Promise<void> {
  const stop = new AbortController();
  const late = pause(mostMs, true, { signal: stop.signal }).catch(() => false);
  // Nobody waits for the end of a probe that is late.
  probe.catch(() => {});
  const isLate = await Promise.race([probe.then(() => false), late]).finally(() => stop.abort());
  if (isLate) throw new WorkcrateError(code, `${name} did not answer within ${mostMs / 1000} s.`);
}

async function demandReserve(folder: string): Promise<void> {
  const space = await measureFreeSpace(folder);
  if (leavesReserve(space)) return;
  const { freeBytes, reserveBytes, inodes } = space;
  throw new WorkcrateError(
    'storage_full',
    inodes !== null && inodes.free < inodes.reserve
      ? 'The disk of the server can hold almost no more files: its inodes are used up. Delete files, or make room.'
      : `The disk is full: ${formatBytes(freeBytes)} are free, and ${formatBytes(reserveBytes)} are kept for deleting. Delete files, or make room.`,
  );
}
