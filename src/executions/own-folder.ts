import { closeSync, constants, fchownSync, fstatSync, openSync } from 'node:fs';
import { errnoOf, isWorkcrateError, WorkcrateError } from '../errors.ts';
import { belowRoot, bestFooting, type Components } from '../paths/paths.ts';

/** Makes a folder and those above it that are missing, and gives those to the user whose place it is. */
export function makeOwned(base: string, below: Components, uid: number | null): void {
  belowRoot(base).makeFolder(below);
  if (uid !== null) give(base, below, uid);
}

const flags = constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * `base` alone is trusted: what is below belongs to hostile code, which may put a link to a folder of the
 * server's in the place of any. So it is gone through by descriptors, and no path is ever chowned. What
 * belongs to the server below it can only have been made here.
 */
function give(base: string, below: Components, uid: number): void {
  if (bestFooting() !== 'descriptors')
    throw new WorkcrateError(
      'unsupported',
      'As root, code can be run on Linux only. Start the server as an ordinary user.',
    );
  let fd = openSync(base, flags);
  try {
    for (const name of below) {
      const next = openSync(`/proc/self/fd/${fd}/${name}`, flags | constants.O_NOFOLLOW);
      closeSync(fd);
      fd = next;
      if (fstatSync(fd).uid === process.getuid?.()) fchownSync(fd, uid, uid);
    }
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) throw error;
    throw new WorkcrateError('path_refused', 'The working_dir was exchanged while it was made. Try again.', {
      cause: error,
      details: { kind: 'changed' },
    });
  } finally {
    closeSync(fd);
  }
}

/** Removes a folder that a run was given and left empty. */
export function removeIfEmpty(base: string, name: Components): void {
  const root = belowRoot(base);
  try {
    if (root.stat(name).type === 'folder') root.remove(name);
  } catch (error) {
    if (!isWorkcrateError(error, 'path_not_found') && !isWorkcrateError(error, 'path_refused')) throw error;
  }
}
