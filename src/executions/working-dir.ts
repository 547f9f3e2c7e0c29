import { posix } from 'node:path';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { belowRoot, here, parsePath, type Components } from '../paths/paths.ts';
import type { Place } from '../sandbox/sandbox.ts';
import { makeOwned } from './own-folder.ts';

/** The folders inside in which a run can stand. Those of the user are on this machine too. */
const roots = ['workspace', 'artifacts', 'tmp'] as const;

/** A folder as seen inside, such as `/workspace/data`. */
export interface InsideFolder {
  readonly root: (typeof roots)[number];
  readonly below: Components;
}

/** What no run may ask for, even though the sandbox would show it something else under that name. */
const systemFolders =
  '/etc /var /root /home /proc /sys /dev /boot /run /usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /srv /mnt /media /Users /Library /System /private'.split(
    ' ',
  );

export function insidePath({ root, below }: InsideFolder): string {
  return posix.join('/', root, ...below);
}

/**
 * What a caller's working_dir means: relative paths are below /workspace. A place of the host that is to
 * be kept from everybody is `path_refused`, one that is merely not there inside `path_not_found`.
 */
export function parseWorkingDir(path: string, serverFolders: readonly string[]): InsideFolder {
  // Whose home it is does not matter: none of this machine's is open to runs.
  if (path.startsWith('~')) throw protectedPath(path);
  if (!path.startsWith('/')) return { root: 'workspace', below: parsePath(path) };
  const plain = posix.normalize(path);
  const ours = isWithin(plain, '/workspace') || isWithin(plain, '/artifacts') || /^\/tmp\/?$/.test(plain);
  if (!ours && [...systemFolders, ...serverFolders].some((folder) => isWithin(plain, folder)))
    throw protectedPath(path);
  const named = path.replace(/^\/+/, '');
  const [first, ...rest] = named === '' ? here : parsePath(named);
  const root = roots.find((name) => name === first);
  if (root === undefined || (root === 'tmp' && rest.length > 0)) throw notInside(path);
  return { root, below: rest.length === 0 ? here : parsePath(rest.join('/')) };
}

/** By components: `/etcetera` is not in `/etc`. */
function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** Makes sure that the folder is there: made where it is missing, and refused where a link is on the way. */
export function settleFolder(place: Place, folder: InsideFolder): void {
  const { root, below } = folder;
  if (root === 'tmp' || below.length === 0) return;
  try {
    if (standsThere(place[root], folder)) return;
    makeOwned(place[root], below, place.uid);
  } catch (error) {
    // Where a link leads is not looked up: it could be exchanged meanwhile, and the answer would tell.
    throw isRefusedLink(error) ? throughLink(insidePath(folder), error) : error;
  }
}

function standsThere(base: string, folder: InsideFolder): boolean {
  try {
    const { type } = belowRoot(base, { links: 'refuse' }).stat(folder.below);
    if (type !== 'folder') throw notFolder(insidePath(folder));
    return true;
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return false;
    throw error;
  }
}

function isRefusedLink(error: unknown): boolean {
  return isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'link';
}

function protectedPath(path: string): WorkcrateError {
  return refused(path, 'protected', 'it belongs to this machine; use a folder below /workspace');
}

function notFolder(path: string): WorkcrateError {
  return refused(path, 'not_folder', 'it is not a folder');
}

function throughLink(path: string, cause: unknown): WorkcrateError {
  return refused(path, 'link', 'it leads through a link; name the folder that the link leads to', cause);
}

function refused(path: string, kind: string, reason: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError('path_refused', `The working_dir ${shown(path)} was refused: ${reason}.`, {
    cause,
    details: { kind },
  });
}

function notInside(path: string): WorkcrateError {
  return new WorkcrateError(
    'path_not_found',
    `There is no ${shown(path)} where code runs. Use a folder below /workspace or /artifacts, which are kept, or /tmp itself, which is new in every run.`,
  );
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}
