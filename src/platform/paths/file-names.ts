import { isUtf8 } from 'node:buffer';
import { lstatSync, type Dirent } from 'node:fs';
import { getErrno } from '../errors.ts';
import { PathRefusal } from './faults.ts';
import type { Components } from './names.ts';
import { readDirents } from './tree.ts';
import { walkTo, type WalkContext, type PathHandle } from './walk.ts';

/** How many entries were left out because their names are not UTF-8: no string can name them again. */
export interface FileNamesEnd {
  readonly unreadable: number;
}

/**
 * Yields the names of the regular files directly in one folder, in no order and without a limit on their number; null
 * for any other entry. Each step is short, so that the caller can do other things in between. The type is read
 * from the folder itself, which takes a fifth of the time of asking each file.
 */
export function* listFileNames(
  context: WalkContext,
  path: Components,
): Generator<string | null, FileNamesEnd> {
  using trail = walkTo(context, path);
  if (!trail.end.stats.isDirectory()) throw new PathRefusal('not_folder');
  let unreadable = 0;
  for (const dirent of readDirents(trail.end)) {
    const isReadable = isUtf8(dirent.name);
    if (!isReadable) unreadable++;
    yield isReadable && isRegular(trail.end, dirent) ? dirent.name.toString('utf8') : null;
  }
  return { unreadable };
}

function isRegular(folder: PathHandle, dirent: Dirent<Buffer>): boolean {
  if (dirent.isFile()) return true;
  return hasUnknownType(dirent) && isRegularAt(folder.at(dirent.name.toString('utf8')));
}

/** Some filesystems have no types in their folders. */
const hasUnknownType = (dirent: Dirent<Buffer>): boolean =>
  !dirent.isDirectory() &&
  !dirent.isSymbolicLink() &&
  !dirent.isFIFO() &&
  !dirent.isSocket() &&
  !dirent.isCharacterDevice() &&
  !dirent.isBlockDevice();

function isRegularAt(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return false;
    throw error;
  }
}
