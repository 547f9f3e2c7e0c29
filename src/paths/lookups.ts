import { closeSync, constants, fstatSync, lstatSync, openSync, statSync, type Stats } from 'node:fs';
import { Fault } from './faults.ts';
import { createFlags, readFlags } from './flags.ts';
import type { Footing, Held } from './footing.ts';

/**
 * Stands on paths that are looked up again before and after each use, for systems where a descriptor is no
 * path. This narrows the race and cannot close it: who exchanges a folder for a link between two of our
 * calls, and back again, is not noticed. The race tests are therefore for `descriptors` only.
 */
export const byLookup: Footing = {
  root: (directory) => lookUp(directory, statSync, () => {}),
  reach: (folder, name) => lookUp(folder.at(name.toString()), lstatSync, () => folder.at('.')),
};

function lookUp(path: string, look: (path: string) => Stats, confirmAbove: () => unknown): Held {
  const stats = look(path);
  const confirm = () => {
    confirmAbove();
    if (!isSame(look(path), stats)) throw new Fault('changed');
  };
  const at = (name: string) => {
    confirm();
    return `${path}/${name}`;
  };
  return {
    stats,
    at,
    // Systems without descriptor paths have names that are text.
    atBytes: (name) => at(name.toString()),
    open: () => opened(path, readFlags | constants.O_NOFOLLOW, confirm),
    create: (name) => opened(at(name), createFlags, confirm),
    [Symbol.dispose]: () => {},
  };
}

/** The descriptor is given out only if a fresh walk arrives at the same file. */
function opened(path: string, flags: number, confirm: () => void): number {
  const fd = openSync(path, flags);
  try {
    confirm();
    if (!isSame(lstatSync(path), fstatSync(fd))) throw new Fault('changed');
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev && (a.mode & constants.S_IFMT) === (b.mode & constants.S_IFMT);
}
