/**
 * The copies of files that a run was given: taken back where the run is not started, and removed after it where nobody
 * has changed them. It makes no copies: `input-files.ts` does.
 */
import { isWorkcrateError } from '../errors.ts';
import { openBelow, type Components } from '../paths/paths.ts';
import { hashExisting } from './client-and-crate-files.ts';
import { formatFileState, readFileState } from './file-hashes.ts';
import type { FileState } from './folder-diff.ts';

/** A file that was made here. */
export interface InputCopy {
  readonly path: Components;
  readonly inode: number;
  /** Once it is whole, where its bytes are also stored elsewhere. */
  whole: { readonly state: FileState; readonly sha256: string } | null;
}

export function removeCopies(base: string, copies: readonly InputCopy[]): void {
  for (const { path, inode } of copies) removeIf(base, path, (file) => file.stats.ino === inode);
}

/** The kernel stamps files by a clock that may be a tick behind: a write of the run may have the time of the copy. */
const clockLagMs = 20;

/**
 * Removes the copies that are as they were, by their state or else by their bytes. To be called when the run is over.
 * `readyAt` is when the last of them was made, in milliseconds.
 */
export async function removeUnchangedCopies(
  base: string,
  copies: readonly InputCopy[],
  readyAt: number,
): Promise<void> {
  for (const { path, whole } of copies) {
    if (whole === null) continue;
    const isSettled = whole.state.changed < BigInt(readyAt - clockLagMs) * 1_000_000n;
    const isSame = (state: FileState): boolean => formatFileState(state) === formatFileState(whole.state);
    const removed = isSettled && removeIf(base, path, ({ fd }) => isSame(readFileState(fd)));
    if (!removed && (await hasBytes(base, path, whole.state.size, whole.sha256)))
      removeIf(base, path, () => true);
  }
}

async function hasBytes(base: string, path: Components, size: bigint, sha256: string): Promise<boolean> {
  return (await hashExisting(base, path, Number(size), new AbortController().signal)) === sha256;
}

type OpenCopy = ReturnType<ReturnType<typeof openBelow>['open']>;

function removeIf(base: string, path: Components, isRight: (file: OpenCopy) => boolean): boolean {
  const root = openBelow(base);
  try {
    using file = root.open(path);
    if (!isRight(file)) return false;
    root.remove(path);
    return true;
  } catch (error) {
    // Other code of the user's may have moved it meanwhile; then it is theirs.
    if (!isWorkcrateError(error)) throw error;
    return false;
  }
}
