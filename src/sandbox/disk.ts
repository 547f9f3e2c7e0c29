import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Place } from './sandbox.ts';
import { unlinkedBytes } from './unlinked.ts';

const lookEveryMs = 250;
const mostMeasuringMs = 20_000;
/** However quiet the disk is, the folders are measured again after so long, and after so many times what that took. */
const measureEveryMs = 1000;
const patience = 20;
/** Below this nobody else could write either. */
const leastFree = (total: number): number => Math.min(1024 ** 3, total * 0.02);

/** What a place took when it was measured, and how full its file system was then. */
interface Measured {
  readonly bytes: number;
  readonly used: number;
  /** When it has to be measured again. */
  readonly until: number;
}

/** What places took that were found too full: their users may tidy up, and have so much, but no more. */
const tooFull = new Map<string, number>();

/**
 * Calls `over` once when a user's folders take more than they may, or the disk is about to be full. Asking how
 * full the file system is costs nothing, so that is done often; the folders are measured when it has filled by
 * so much that it could have been them, and now and then in any case, since others may have made room meanwhile.
 */
export function watchDisk(place: Place, diskBytes: number, over: () => void): Disposable {
  const stop = new AbortController();
  let last: Measured | null = null;
  let wasOver = false;

  const look = async () => {
    const { used, isFull } = await fullness(place.workspace);
    const most = Math.max(diskBytes, tooFull.get(place.workspace) ?? 0);
    if (isFull || mayBeOver(last, used, most)) {
      last = await measured(place, used, stop.signal);
      remember(place, last.bytes, diskBytes);
      wasOver ||= isFull || last.bytes > most;
    }
    if (wasOver) over();
  };
  void repeat(look, stop.signal);
  return {
    [Symbol.dispose]() {
      stop.abort();
      // It went on writing until it was killed.
      if (wasOver) void measureAgain(place, diskBytes);
    },
  };
}

function mayBeOver(last: Measured | null, used: number, most: number): boolean {
  if (last === null || performance.now() >= last.until) return true;
  return last.bytes + Math.max(0, used - last.used) > most;
}

async function measured(place: Place, used: number, signal: AbortSignal): Promise<Measured> {
  const began = performance.now();
  const bytes = (await folderBytes(place, signal)) + (await unlinkedBytes(place.uid, place.workspace));
  const ended = performance.now();
  return { bytes, used, until: ended + Math.max(measureEveryMs, patience * (ended - began)) };
}

function remember({ workspace }: Place, bytes: number, diskBytes: number): void {
  if (bytes > diskBytes) tooFull.set(workspace, bytes);
  else tooFull.delete(workspace);
}

async function measureAgain(place: Place, diskBytes: number): Promise<void> {
  try {
    remember(place, await folderBytes(place, AbortSignal.timeout(mostMeasuringMs)), diskBytes);
  } catch {
    // Then the next run is measured against what was known.
  }
}

/** The next look waits for the one before, and for twice as long again as that took. */
async function repeat(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let wait = lookEveryMs; ;) {
    try {
      await setTimeout(wait, null, { signal, ref: false });
      const began = performance.now();
      await look();
      wait = lookEveryMs + 2 * (performance.now() - began);
    } catch {
      // Stopped, or a folder that cannot be measured now; that is not the fault of the run.
      if (signal.aborted) return;
    }
  }
}

async function fullness(folder: string): Promise<{ used: number; isFull: boolean }> {
  const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(folder);
  // Some file systems count no inodes.
  const isFull = bavail * bsize < leastFree(blocks * bsize) || (files > 0 && ffree < files * 0.02);
  return { used: (blocks - bfree) * bsize, isFull };
}

/**
 * What the folders take on disk. `du` does not follow links, and does not mind a tree that changes below it:
 * files that vanish meanwhile make it fail, but not its sum.
 */
async function folderBytes({ workspace, artifacts }: Place, signal: AbortSignal): Promise<number> {
  const args = ['-sxc', '--block-size=1', '--', workspace, artifacts];
  const options = { signal, timeout: mostMeasuringMs, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' } };
  const { stdout } = await promisify(execFile)('du', args, options).catch((error: unknown) =>
    hasOutput(error) ? error : Promise.reject(error as Error),
  );
  const total = /^(\d+)\ttotal$/m.exec(stdout)?.[1];
  if (total === undefined) throw new Error('du did not come to an end.');
  return Number(total);
}

function hasOutput(error: unknown): error is { stdout: string } {
  return typeof (error as { stdout?: unknown }).stdout === 'string';
}
