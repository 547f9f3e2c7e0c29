import { WorkcrateError } from '../errors.ts';
import { folderBytes } from './folder-bytes.ts';
import type { Place } from './sandbox.ts';

/** After a run its folders are measured again at most so often, and after so many times what the last one took. */
const measureEveryMs = 400;
const patience = 10;
/** So many runs may add to what is too much already, before no more are started. */
const mostAdding = 3;

/** What is known of a user's folders from one run to the next. */
interface Known {
  /** When they were last measured; what is closed to us is more than there is. */
  bytes: number;
  /** The limit, or what was there already: who has too much may tidy up, but not add to it. */
  most: number;
  /** Runs that added to it all the same. */
  adding: number;
  /** After a run, they are measured again from this moment on. */
  due: number;
  /** What is being measured since runs ended. */
  settled: Promise<void>;
}

/** A user's folders, and what they may take. */
export interface Share {
  readonly most: number;
  readonly isOver: boolean;
  /** Takes down what was measured. */
  note(bytes: number): void;
  /**
   * Before a run. Folders that were found too full are measured again, since somebody may have tidied up. Rejects
   * with `quota_exceeded` where runs have added to them again and again, each before it could be stopped.
   */
  admit(): Promise<void>;
  /**
   * After a run, in the background. Short runs are over before anybody looks at what they write, so it is looked at
   * now and then between them, and always where there was too much already.
   */
  settle(run: { readonly beganOver: boolean; readonly wasOver: boolean }): void;
}

/** The shares of all users. One is kept for everyone who ever ran something. */
export function diskShares(diskBytes: number, signal: AbortSignal): (place: Place) => Share {
  const shares = new Map<string, Share>();
  return (place) => {
    const share = shares.get(place.workspace) ?? openShare(place, diskBytes, signal);
    shares.set(place.workspace, share);
    return share;
  };
}

function openShare(place: Place, diskBytes: number, signal: AbortSignal): Share {
  const known: Known = { bytes: 0, most: diskBytes, adding: 0, due: 0, settled: Promise.resolve() };
  const isOver = (): boolean => known.bytes > diskBytes;

  const note = (bytes: number): void => {
    known.bytes = bytes;
    if (!isOver()) known.adding = 0;
    if (Number.isFinite(bytes)) known.most = Math.max(diskBytes, bytes);
  };
  const measure = async (): Promise<void> => {
    const began = performance.now();
    // What was known before holds where they cannot be measured now.
    const bytes = await folderBytes([place.workspace, place.artifacts], signal).catch(() => null);
    if (bytes !== null) note(bytes);
    const ended = performance.now();
    known.due = ended + Math.max(measureEveryMs, patience * (ended - began));
  };
  const settled = async (earlier: Promise<void>, beganOver: boolean, wasOver: boolean): Promise<void> => {
    await earlier;
    const { most } = known;
    await measure();
    if (beganOver && isOver() && (wasOver || known.bytes > most)) known.adding++;
  };

  return {
    get most() {
      return known.most;
    },
    get isOver() {
      return isOver();
    },
    note,
    async admit() {
      if (!isOver()) return;
      await known.settled;
      await measure();
      if (isOver() && known.adding >= mostAdding) throw tooMuch(known.bytes, diskBytes);
    },
    settle({ beganOver, wasOver }) {
      if (!beganOver && !wasOver && performance.now() < known.due) return;
      // One at a time; and whoever begins meanwhile where there was too much waits for it.
      known.due = Number.POSITIVE_INFINITY;
      if (wasOver) known.bytes = Number.POSITIVE_INFINITY;
      known.settled = settled(known.settled, beganOver, wasOver);
    },
  };
}

function tooMuch(bytes: number, diskBytes: number): WorkcrateError {
  const taken = Number.isFinite(bytes) ? `take ${bytes} bytes` : 'hold a folder that is closed to the server';
  return new WorkcrateError(
    'quota_exceeded',
    `Your /workspace and /artifacts ${taken}, and may take ${diskBytes}. Runs that could have deleted files added more, so none is started until the operator has made room (docs/limits.md).`,
    { details: { disk_bytes: diskBytes } },
  );
}
