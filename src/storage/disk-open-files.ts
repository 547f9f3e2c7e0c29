import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { BoundedMap } from '../concurrency/bounded-map.ts';
import { getErrno } from '../errors.ts';

interface CachedFile {
  readonly path: string;
  readonly descriptor: number;
  readonly size: number;
  readonly inode: number;
  /** When it was last seen to be the file at its path. */
  seenAt: number;
  users: number;
  /** No longer given out: to be closed by its last user. */
  dropped: boolean;
}

const maxCachedFiles = 64;
/** So long a file is given out without a look at its path. A look costs some microseconds. */
const maxUncheckedMs = 1000;

export type OpenFileCache = ReturnType<typeof createOpenFileCache>;

/**
 * Files open for reading. Those read last are held, since opening and closing is a quarter of what a small
 * download costs; objects never change, so that a held one is as good as a fresh one. Only others remove or damage them
 * behind the server, which is noticed within a second. Synchronous on purpose: an open costs 10 µs so, and 100 through
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
    /** The file for one more user, or null where there is none. */
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

/** For one that is not held any more. */
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

/** Where descriptors have run out, those held for later are given up first. */
function openReadable(path: string, makeRoom: () => void): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (getErrno(error) !== 'EMFILE') throw error;
    makeRoom();
    return openSync(path, 'r');
  }
}
