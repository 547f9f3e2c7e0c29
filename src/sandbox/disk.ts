import { setTimeout } from 'node:timers/promises';
import { leavesReserve, measureFreeSpace } from '../disk-reserve.ts';
import { diskShares, type Share } from './disk-shares.ts';
import { folderBytes } from './folder-bytes.ts';
import type { Place } from './sandbox.ts';
import { unlinkedBytes } from './unlinked.ts';

const lookEveryMs = 50;
/** However quiet the disk is, the folders are measured again after so long, and after so many times what that took. */
const measureEveryMs = 400;
const patience = 3;

/** What a place took when it was measured, and how full its file system was then. */
interface Measured {
  readonly bytes: number;
  readonly used: number;
  /** When it has to be measured again. */
  readonly until: number;
}

/** The folders of users, which are watched, not held. */
export interface WatchedDisk extends Disposable {
  /** Before a run. Rejects with `quota_exceeded` where too much is there and runs only add to it. */
  admit(place: Place): Promise<void>;
  /**
   * Calls `over` once when a user's folders take more than they may, or the disk is about to be full. Disposed of
   * when the run is over.
   */
  watch(place: Place, over: () => void): Disposable;
}

export function watchedDisk(diskBytes: number): WatchedDisk {
  const closing = new AbortController();
  const shareOf = diskShares(diskBytes, closing.signal);
  return {
    admit: (place) => shareOf(place).admit(),
    watch: (place, over) => watch(place, shareOf(place), over),
    [Symbol.dispose]: () => closing.abort(),
  };
}

/**
 * Asking how full the file system is costs nothing, so that is done often; the folders are measured when it has
 * filled by so much that it could have been them, and now and then in any case, since others may have made room
 * meanwhile.
 */
function watch(place: Place, share: Share, over: () => void): Disposable {
  const stop = new AbortController();
  const beganOver = share.isOver;
  let last: Measured | null = null;
  let wasOver = false;
  let mustStop = false;

  const look = async () => {
    const space = await measureFreeSpace(place.workspace);
    const { usedBytes: used } = space;
    // Below the reserve nobody else could write either.
    const isFull = !leavesReserve(space);
    // As if it had been empty, until the first measuring: most runs are over by then.
    last ??= { bytes: 0, used, until: beganOver ? 0 : performance.now() + 4 * lookEveryMs };
    if (isFull || mayBeOver(last, used, share.most)) {
      last = await measured(place, used, share.most, stop.signal);
      wasOver ||= last.bytes > share.most;
      // What is over is measured once more when the run has ended, since it writes until it is killed.
      if (!wasOver) share.note(last.bytes);
    }
    mustStop ||= isFull || wasOver;
    if (mustStop) over();
  };
  void repeat(look, stop.signal);
  return {
    [Symbol.dispose]() {
      stop.abort();
      share.settle({ beganOver, wasOver });
    },
  };
}

function mayBeOver(last: Measured, used: number, most: number): boolean {
  return performance.now() >= last.until || last.bytes + Math.max(0, used - last.used) > most;
}

async function measured(place: Place, used: number, most: number, signal: AbortSignal): Promise<Measured> {
  const began = performance.now();
  const named = await folderBytes([place.workspace, place.artifacts], signal);
  const bytes = named > most ? named : named + (await unlinkedBytes(place.uid, place.workspace));
  const ended = performance.now();
  return { bytes, used, until: ended + Math.max(measureEveryMs, patience * (ended - began)) };
}

async function repeat(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
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
