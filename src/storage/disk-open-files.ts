import { closeSync, fstatSync, openSync } from 'node:fs';
import { errnoOf } from '../errors.ts';

interface HeldFile {
  readonly path: string;
  readonly descriptor: number;
  readonly size: number;
  users: number;
  /** No longer given out: to be closed by its last user. */
  dropped: boolean;
}

const mostHeld = 64;

export type OpenFiles = ReturnType<typeof createOpenFiles>;

/**
 * Files open for reading. Those read last are held, since opening and closing is a quarter of what a small
 * download costs; objects never change, so that a held one is as good as a fresh one. Synchronous on
 * purpose: an open costs 10 µs so, and 100 through the thread pool.
 */
export function createOpenFiles() {
  const held = new Map<string, HeldFile>();

  function drop(file: HeldFile): void {
    held.delete(file.path);
    file.dropped = true;
    if (file.users === 0) closeSync(file.descriptor);
  }

  function dropOldest(most: number): void {
    for (const file of held.values()) {
      if (held.size <= most) return;
      drop(file);
    }
  }

  function open(path: string): HeldFile {
    const descriptor = openReadable(path, () => dropOldest(0));
    const file = { path, descriptor, size: fstatSync(descriptor).size, users: 0, dropped: false };
    dropOldest(mostHeld - 1);
    return file;
  }

  return {
    /** The file for one more user, or null where there is none. */
    take(path: string): HeldFile | null {
      try {
        const file = held.get(path) ?? open(path);
        file.users++;
        held.delete(path);
        held.set(path, file);
        return file;
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return null;
        throw error;
      }
    },
    giveBack(file: HeldFile): void {
      file.users--;
      if (file.dropped && file.users === 0) closeSync(file.descriptor);
    },
    /** For a file that is being removed: its users may finish, nobody else gets it. */
    forget(path: string): void {
      const file = held.get(path);
      if (file) drop(file);
    },
    close: (): void => dropOldest(0),
  };
}

/** Where descriptors have run out, those held for later are given up first. */
function openReadable(path: string, makeRoom: () => void): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (errnoOf(error) !== 'EMFILE') throw error;
    makeRoom();
    return openSync(path, 'r');
  }
}
