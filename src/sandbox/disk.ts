import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Place } from './sandbox.ts';

const lookEveryMs = 250;
const mostMeasuringMs = 20_000;

/** What a place took when it was measured, and how full its file system was then. */
interface Measured {
  readonly bytes: number;
  readonly used: number;
}

/** What places took that were found too full: their users may tidy up, and have so much, but no more. */
const tooFull = new Map<string, number>();

/**
 * Calls `over` once when a user's folders take more than they may. The whole tree is measured only when the
 * file system has filled by so much that it could have been them, so a long quiet run costs next to nothing.
 * `du` does not follow links and does not mind a tree that changes below it.
 */
export function watchDisk(place: Place, diskBytes: number, over: () => void): Disposable {
  const stop = new AbortController();
  let last: Measured | null = null;
  let wasOver = false;

  const look = async () => {
    const used = await usedBytes(place.workspace);
    const most = Math.max(diskBytes, tooFull.get(place.workspace) ?? 0);
    if (last !== null && last.bytes + Math.max(0, used - last.used) <= most) return;
    last = { bytes: await folderBytes(place, stop.signal), used };
    remember(place, last.bytes, diskBytes);
    if (last.bytes > most) wasOver = true;
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

async function usedBytes(folder: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(folder);
  return (blocks - bfree) * bsize;
}

/** What the folders take on disk. Files that vanish meanwhile make du fail, but not its sum. */
async function folderBytes({ workspace, artifacts }: Place, signal: AbortSignal): Promise<number> {
  const args = ['-sxc', '--block-size=1', '--', workspace, artifacts];
  const options = { signal, timeout: mostMeasuringMs, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' } };
  const { stdout } = await promisify(execFile)('du', args, options).catch((error: unknown) =>
    hasOutput(error) ? error : Promise.reject(error as Error),
  );
  return Number(/^(\d+)\ttotal$/m.exec(stdout)?.[1] ?? 0);
}

function hasOutput(error: unknown): error is { stdout: string } {
  return typeof (error as { stdout?: unknown }).stdout === 'string';
}
