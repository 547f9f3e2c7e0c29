import { lstatSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, resolve, sep } from 'node:path';
import { WorkcrateError } from '../errors.ts';

/**
 * A folder that all users and all runs may read, by its path; null where there is none. Whoever can write where it is
 * named (a repository has links in it) must not choose what that is: a link in its place is refused, and so are a home
 * folder, what is above one, and a hidden folder. To be asked each time that it is opened or mounted.
 */
export function findPublicFolder(path: string | null, setting: string): string | null {
  if (path === null) return null;
  const named = resolve(path);
  const stats = lstatSync(named, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (stats.isSymbolicLink()) throw publicFolderError(setting, named, 'it is a link');
  if (!stats.isDirectory()) return null;
  const real = realpathSync(named);
  const startedIn = process.cwd();
  if (isAtOrBelow(named, startedIn) && !isAtOrBelow(real, startedIn))
    throw publicFolderError(setting, named, 'a folder above it is a link that leads elsewhere');
  const home = findHomeFolder();
  if (home !== null && isAtOrBelow(home, real))
    throw publicFolderError(setting, named, 'it is your home folder, or has it below it');
  if (basename(real).startsWith('.')) throw publicFolderError(setting, named, 'it is hidden');
  return real;
}

/** Null for a uid that nobody has given a name, with no HOME: as many containers are started. */
function findHomeFolder(): string | null {
  try {
    return homedir();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR') return null;
    throw error;
  }
}

export const isAtOrBelow = (path: string, folder: string): boolean =>
  `${path}${sep}`.startsWith(folder.endsWith(sep) ? folder : folder + sep);

function publicFolderError(setting: string, folder: string, why: string): WorkcrateError {
  return new WorkcrateError(
    'path_refused',
    `${setting}: ${folder} is not used, since ${why}, and all runs could read what is there. Name a plain folder with ${setting}, or remove this one.`,
    { details: { kind: 'public_folder' } },
  );
}
