import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { belowRoot, bestFooting, type Components } from '../paths/paths.ts';

/** Makes a folder and those above it that are missing, and gives those to the user whose place it is. */
export function makeOwned(base: string, below: Components, uid: number | null): void {
  if (uid !== null && bestFooting() !== 'descriptors')
    throw new WorkcrateError(
      'unsupported',
      'As root, code can be run on Linux only. Start the server as an ordinary user.',
    );
  belowRoot(base).makeFolder(below, uid);
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
