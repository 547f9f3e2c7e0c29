import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { getErrno } from '../../platform/errors.ts';

interface CachedFile {
  readonly path: string;
  readonly descriptor: number;
  readonly size: number;
  readonly inode: number;
  /** When it was last seen to be the file at its path. */
  seenAt: number;
  users: number;
  /** No longer in the cache: its last user closes it. */
  dropped: boolean;
}

const maxCachedFiles = 64;
/** For so long a cached file is used without checking its path. A check costs some microseconds. */
const maxUncheckedMs = 1000;

export type OpenFileCache = ReturnType<typeof createOpenFileCache>;

/**
 * An LRU cache of files open for reading, since opening and closing is a quarter of what a small download costs. Objects
 * never change, so a cached descriptor is as good as a fresh one. If somebody else removes or damages a file, that is
 * noticed within a second. Synchronous on purpose: an open costs 10 µs so, and 100 through
 * the thread pool.
 */
export function createOpenFileCache() {
  const held = new BoundedMap<string, CachedFile>({ mostEntries: maxCachedFiles, onEvict: retireFile });

  function drop(file: CachedFile): void {
    held.delete(file.path);
    retireFile(file);
  }

  function open(path: string): CachedFile {
    const descriptor = openReadable(path, () => held.evictAll());
    const { size, ino: inode } = fstatSync(descriptor);
    return { path, descriptor, size, inode, seenAt: performance.now(), users: 0, dropped: false };
  }

  function findHeld(path: string): CachedFile | null {
    const file = held.get(path) ?? null;
    if (file === null || isFileStillLinked(file)) return file;
    drop(file);
    return null;
  }

  return {
    /** The file for one more user, or null if there is none. */
    take(path: string): CachedFile | null {
      try {
        const file = findHeld(path) ?? open(path);
        file.users++;
        held.set(path, file);
        return file;
      } catch (error) {
        if (getErrno(error) === 'ENOENT') return null;
        throw error;
      }
    },
    giveBack(file: CachedFile): void {
      file.users--;
      if (file.dropped && file.users === 0) closeSync(file.descriptor);
    },
    /** For a file that is being removed: its users may finish, nobody else gets it. */
    forget(path: string): void {
      const file = held.get(path);
      if (file) drop(file);
    },
    close: (): void => held.evictAll(),
  };
}

/** For a file that is no longer in the cache. */
function retireFile(file: CachedFile): void {
  file.dropped = true;
  if (file.users === 0) closeSync(file.descriptor);
}

/** Whether the path still leads to the same file, as long as before. */
function isFileStillLinked(file: CachedFile): boolean {
  const now = performance.now();
  if (now - file.seenAt < maxUncheckedMs) return true;
  const found = statSync(file.path, { throwIfNoEntry: false });
  file.seenAt = now;
  return found?.ino === file.inode && found.size === file.size;
}

/** If there are no descriptors left, the cached ones are closed first. */
function openReadable(path: string, makeRoom: () => void): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (getErrno(error) !== 'EMFILE') throw error;
    makeRoom();
    return openSync(path, 'r');
  }
}
