/**
 * Which folder a run works in. `working_dir` is checked against the few roots that are allowed, and links on the way
 * are refused. What the sandbox mounts there is not decided here.
 */
import { posix } from 'node:path';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import {
  openBelow,
  findBestWalkMethod,
  rootPath,
  parsePath,
  type Components,
} from '../../platform/paths/paths.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';

/** The folders inside the sandbox in which a run can work. Two of them are the user's workspace. */
const insideRoots = {
  workspace: '/workspace',
  artifacts: '/artifacts',
  tmp: '/tmp',
  home: '/home/user',
} as const;
type InsideRoot = keyof typeof insideRoots;

/** A folder as seen inside, such as `/workspace/data`. */
export interface InsideFolder {
  readonly root: InsideRoot;
  readonly below: Components;
}

/** What no run may ask for, even though the sandbox would show it something else under that name. */
const systemFolders =
  '/etc /var /root /home /proc /sys /dev /boot /run /usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /srv /mnt /media /Users /Library /System /private'.split(
    ' ',
  );

/** What programs keep their secrets in, below whatever home. */
const secretFolders: ReadonlySet<string | undefined> = new Set(['.ssh', '.gnupg', '.aws', '.config']);

export function toInsidePath({ root, below }: InsideFolder): string {
  return posix.join(insideRoots[root], ...below);
}

/** Whether a folder is of this run alone: made when it starts, and gone with it. */
export const isTemporary = (root: InsideRoot): root is 'tmp' | 'home' => root === 'tmp' || root === 'home';

/**
 * What a caller's working_dir means: relative paths are below /workspace, and ~ is the home of the sandbox. A place of the host that is to
 * be kept from everybody is `path_refused`, one that is merely not there inside `path_not_found`.
 */
export function parseWorkingDir(path: string, serverFolders: readonly string[]): InsideFolder {
  try {
    return parseFolder(path, serverFolders);
  } catch (error) {
    throw isWorkcrateError(error, 'path_refused') ? withAllowedFolders(error) : error;
  }
}

function parseFolder(path: string, serverFolders: readonly string[]): InsideFolder {
  if (path.startsWith('~')) return parseHome(path);
  if (!path.startsWith('/')) return { root: 'workspace', below: parsePath(path) };
  const plain = posix.normalize(path);
  const ours =
    isInsideFolder(plain, '/workspace') || isInsideFolder(plain, '/artifacts') || /^\/tmp\/?$/.test(plain);
  if (
    isInsideFolder(plain, insideRoots.home) &&
    !serverFolders.some((folder) => isInsideFolder(plain, folder))
  )
    return parseHome(`~${plain.slice(insideRoots.home.length)}`);
  if (!ours && [...systemFolders, ...serverFolders].some((folder) => isInsideFolder(plain, folder)))
    throw protectedPathError(path);
  const named = path.replace(/^\/+/, '');
  const [first, ...rest] = named === '' ? rootPath : parsePath(named);
  const root = (['workspace', 'artifacts', 'tmp'] as const).find((name) => name === first);
  if (root === undefined) throw workingDirMissingError(path);
  return { root, below: rest.length === 0 ? rootPath : parsePath(rest.join('/')) };
}

/** None of this machine's homes is open to runs, whosever it is. */
function parseHome(path: string): InsideFolder {
  if (!/^~(?:\/|$)/.test(path)) throw protectedPathError(path);
  const named = path.replace(/^~\/*/, '');
  const below = named === '' ? rootPath : parsePath(named);
  if (secretFolders.has(below[0])) throw protectedPathError(path);
  return { root: 'home', below };
}

/** By components: `/etcetera` is not in `/etc`. */
function isInsideFolder(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** Makes sure that the folder is there: made where it is missing, and refused where a link is on the way. */
export function ensureFolder(place: Workspace, folder: InsideFolder): void {
  const { root, below } = folder;
  if (isTemporary(root) || below.length === 0) return;
  try {
    if (folderExists(place[root], folder)) return;
    makeFolderFor(place[root], below, place.uid);
  } catch (error) {
    if (!isWorkcrateError(error, 'path_refused') && !isWorkcrateError(error, 'path_not_found')) throw error;
    // Where a link leads is not looked up: it could be exchanged meanwhile, and the answer would tell.
    throw withAllowedFolders(isRefusedLink(error) ? workingDirLinkError(toInsidePath(folder), error) : error);
  }
}

function folderExists(base: string, folder: InsideFolder): boolean {
  try {
    const { type } = openBelow(base, { links: 'refuse' }).stat(folder.below);
    if (type !== 'folder') throw workingDirNotFolderError(toInsidePath(folder));
    return true;
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return false;
    throw error;
  }
}

function isRefusedLink(error: unknown): boolean {
  return isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'link';
}

const allowedFoldersText =
  'Code runs in /workspace or /artifacts, which are kept, in /tmp or ~, which are new in every run, or in a folder below one of these. For files of your own in a run, name them in client_files, or upload them (request_upload) and name them in files';

/** Whatever the reason is, whoever is refused has to know what to give instead. */
function withAllowedFolders(error: WorkcrateError): WorkcrateError {
  if (error.message.includes(allowedFoldersText)) return error;
  const { code, details, message } = error;
  return new WorkcrateError(code, `${message} ${allowedFoldersText}.`, { cause: error, details });
}

function protectedPathError(path: string): WorkcrateError {
  return workingDirRefusedError(path, 'protected', 'it belongs to this machine');
}

function workingDirNotFolderError(path: string): WorkcrateError {
  return workingDirRefusedError(path, 'not_folder', 'it is not a folder');
}

function workingDirLinkError(path: string, cause: unknown): WorkcrateError {
  return workingDirRefusedError(
    path,
    'link',
    'it leads through a link; name the folder that the link leads to',
    cause,
  );
}

function workingDirRefusedError(path: string, kind: string, reason: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'path_refused',
    `The working_dir ${quoteWorkingDir(path)} was refused: ${reason}.`,
    {
      cause,
      details: { kind },
    },
  );
}

function workingDirMissingError(path: string): WorkcrateError {
  return new WorkcrateError(
    'path_not_found',
    `There is no ${quoteWorkingDir(path)} where code runs. ${allowedFoldersText}.`,
  );
}

function quoteWorkingDir(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}

/** Makes a folder and those above it that are missing, and gives those to the user whose place it is. */
export function makeFolderFor(base: string, below: Components, uid: number | null): void {
  if (uid !== null && findBestWalkMethod() !== 'descriptors')
    throw new WorkcrateError(
      'unsupported',
      'As root, code can be run on Linux only. Start the server as an ordinary user.',
    );
  openBelow(base).makeFolder(below, uid);
}

/** Removes a folder that a run was given and left empty. */
export async function removeIfEmpty(base: string, name: Components): Promise<void> {
  try {
    await openBelow(base).removeFolder(name);
  } catch (error) {
    if (!isWorkcrateError(error, 'path_not_found') && !isWorkcrateError(error, 'path_refused')) throw error;
  }
}
