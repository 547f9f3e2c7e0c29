/**
 * Copies of a session's own folder, for checkpoints and forks, in a place of the user's that no code sees. They live as
 * long as their session, so what is where is known in memory alone. The folder is hostile: links are not followed and
 * not copied. Interpreters are no matter of this file.
 */
import { fchmodSync, fchownSync, futimesSync, read, write } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { runInSlices } from '../../../platform/concurrency/yield.ts';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { joinComponents, openBelow, parseName, removeTree, rootPath } from '../../../platform/paths/paths.ts';
import type { Components, FolderRoot, OpenFile, TreeEntry } from '../../../platform/paths/paths.ts';
import { getCheckpointsFolder, type Sandbox, type Workspace } from '../../../ports/sandbox/sandbox.ts';
import { formatBytes } from '../../../platform/text/text.ts';
import { canRunsRead } from '../../workspaces/workspaces.ts';

const maxBytes = 1024 ** 3;
const maxEntries = 10_000;
const maxPathBytes = 4 * 1024 ** 2;
const maxDepth = 60;

interface SavedEntry {
  /** Relative to the folder, with "/" between; empty for the folder itself. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly mode: number;
  /** In seconds. */
  readonly modified: number;
}

/** A folder as it was. */
export interface SavedFolder {
  /** The copy's own folder, in that of the session. */
  readonly copy: Components;
  readonly entries: readonly SavedEntry[];
  readonly files: number;
  readonly bytes: number;
  /** Links, devices, names that are not UTF-8, files of others: they are not in the copy. */
  readonly leftOut: number;
}

export interface SaveContext {
  readonly sandbox: Pick<Sandbox, 'claimDisk'>;
  readonly place: Workspace;
  readonly session: string;
}

/** Copies all regular files and folders below `folder` in /workspace. Refuses what is too large or too many. */
export async function saveFolder(
  context: SaveContext,
  folder: Components,
  key: string,
): Promise<SavedFolder> {
  const { sandbox, place, session } = context;
  const source = openBelow(place.workspace);
  const { entries, leftOut } = await listFolder(source, folder);
  const wanted = entries.reduce((sum, { size }) => sum + size, 0);
  if (wanted > maxBytes) throw tooLargeError(wanted);
  using _claim = await sandbox.claimDisk(place, wanted);
  const copy = joinComponents(parseName(session), parseName(key));
  const store = await openStore(place);
  await removeTree(join(getCheckpointsFolder(place), ...copy));
  store.makeFolder(copy);
  const saved: SavedEntry[] = [];
  let [files, bytes, skipped] = [0, 0, leftOut];
  try {
    for (const [at, entry] of entries.entries()) {
      const copied = entry.isFolder
        ? 0
        : await copyOut(context, source, entry.at, store, nameCopy(copy, at), maxBytes - bytes);
      // Kept in its place, since the copies go by it.
      saved.push(copied === null ? { ...entry, path: goneMark } : entry);
      if (copied === null) skipped++;
      else if (!entry.isFolder) [files, bytes] = [files + 1, bytes + copied];
    }
  } catch (error) {
    await removeTree(join(getCheckpointsFolder(place), ...copy));
    throw error;
  }
  return { copy, entries: saved, files, bytes, leftOut: skipped };
}

/** No path begins with it. */
const goneMark = '/';

const nameCopy = (copy: Components, at: number): Components => joinComponents(copy, parseName(String(at)));

const toComponents = (path: string): Components =>
  path === '' ? rootPath : joinComponents(...path.split('/').map(parseName));

/** The folder of all copies of a user, made where it is missing. It is the server's own. */
async function openStore(place: Workspace): Promise<FolderRoot> {
  const folder = getCheckpointsFolder(place);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return openBelow(folder);
}

interface ListedEntry extends SavedEntry {
  readonly at: Components;
  readonly size: number;
}

async function listFolder(
  root: FolderRoot,
  folder: Components,
): Promise<{ entries: ListedEntry[]; leftOut: number }> {
  const entries: ListedEntry[] = [];
  let leftOut = 0;
  const take = ({ path, stats }: TreeEntry): void => {
    if (path === null) return;
    const [isFolder, isFile] = [stats.isDirectory(), stats.isFile()];
    if (!isFolder && !isFile) leftOut++;
    else
      entries.push({
        path,
        at: joinComponents(folder, toComponents(path)),
        isFolder,
        size: isFolder ? 0 : Number(stats.size),
        mode: Number(stats.mode) & 0o777,
        modified: Number(stats.mtimeMs) / 1000,
      });
  };
  const limits = { mostEntries: maxEntries, mostDepth: maxDepth, mostBytes: maxPathBytes };
  const end = await runInSlices(root.tree(folder, limits), { take });
  if (end.cut || end.unentered > 0) throw tooManyError();
  return { entries, leftOut: leftOut + end.unreadable };
}

/** Gives how many bytes it has; null for a file that is gone by now, or that runs of the user could not read. */
async function copyOut(
  { place }: SaveContext,
  root: FolderRoot,
  path: Components,
  store: FolderRoot,
  target: Components,
  most: number,
): Promise<number | null> {
  try {
    using from = root.open(path);
    if (!canRunsRead(place, from.stats)) return null;
    using to = store.create(target);
    return await copyBytes(from, to, most);
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused')) return null;
    throw error;
  }
}

const readSome = promisify(read);
const writeSome = promisify(write);
const chunkBytes = 1024 ** 2;

/** A file may grow meanwhile: more than `most` bytes are refused. */
async function copyBytes(from: OpenFile, to: OpenFile, most: number): Promise<number> {
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, from.stats.size)));
  let copied = 0;
  for (;;) {
    const { bytesRead } = await readSome(from.fd, buffer, 0, buffer.length, copied);
    if (bytesRead === 0) return copied;
    copied += bytesRead;
    if (copied > most) throw tooLargeError(maxBytes);
    await writeWhole(to.fd, buffer.subarray(0, bytesRead));
  }
}

async function writeWhole(fd: number, bytes: Uint8Array): Promise<void> {
  try {
    for (let done = 0; done < bytes.length;) done += (await writeSome(fd, bytes, done)).bytesWritten;
  } catch (cause) {
    if (!['ENOSPC', 'EDQUOT'].includes(getErrno(cause) ?? '')) throw cause;
    throw new WorkcrateError('storage_full', 'The disk of the server is full.', { cause });
  }
}

/** A copy that is ready to be put into a folder: until `apply`, nothing in the folder has changed. */
export interface StagedFolder extends AsyncDisposable {
  /** Puts the folder back as it was, by moving files alone. */
  apply(folder: Components): void;
}

/** Makes a second copy of what was saved, owned by the user's runs, so that putting it in place is only moving. */
export async function stageFolder(context: SaveContext, saved: SavedFolder): Promise<StagedFolder> {
  const { sandbox, place, session } = context;
  using _claim = await sandbox.claimDisk(place, saved.bytes);
  const staging = joinComponents(parseName(session), parseName('restoring'));
  const path = join(getCheckpointsFolder(place), ...staging);
  await removeTree(path);
  const store = await openStore(place);
  store.makeFolder(staging);
  try {
    for (const [at, entry] of saved.entries.entries())
      if (isFile(entry))
        await stageFile(place, store, nameCopy(saved.copy, at), nameCopy(staging, at), entry);
  } catch (error) {
    await removeTree(path);
    throw error;
  }
  return {
    apply: (folder) => applyFolder(place, saved, staging, folder),
    [Symbol.asyncDispose]: () => removeTree(path),
  };
}

const isFile = ({ isFolder, path }: SavedEntry): boolean => !isFolder && path !== goneMark;

async function stageFile(
  { uid }: Workspace,
  store: FolderRoot,
  source: Components,
  target: Components,
  { mode, modified }: SavedEntry,
): Promise<void> {
  using from = store.open(source);
  using to = store.create(target);
  await copyBytes(from, to, maxBytes);
  if (uid !== null) fchownSync(to.fd, uid, uid);
  fchmodSync(to.fd, mode);
  futimesSync(to.fd, modified, modified);
}

/**
 * Folders that are there already stay, since the interpreter may be in one of them. What was not there goes out of sight
 * first and is removed with the staging folder.
 */
function applyFolder(place: Workspace, saved: SavedFolder, staging: Components, folder: Components): void {
  const home = openBelow(dirname(place.workspace));
  const inside = (path: string): Components =>
    joinComponents(parseName('workspace'), folder, toComponents(path));
  const out = joinComponents(parseName('checkpoints'), staging);
  const known = new Map(saved.entries.map((entry) => [entry.path, entry]));
  const folders = saved.entries.filter(({ isFolder }) => isFolder).map(({ path }) => path);
  let moved = 0;
  for (const path of ['', ...folders]) {
    home.makeFolder(inside(path), place.uid);
    for (const { name, type } of home.list(inside(path)).entries) {
      const below = path === '' ? name : `${path}/${name}`;
      const entry = known.get(below);
      if (entry !== undefined && entry.isFolder === (type === 'folder') && type !== 'link') continue;
      home.rename(inside(below), joinComponents(out, parseName(`out-${moved++}`)));
    }
  }
  for (const [at, entry] of saved.entries.entries())
    if (isFile(entry)) home.rename(nameCopy(out, at), inside(entry.path));
}

/** Removes one copy. */
export async function removeSaved(place: Workspace, { copy }: SavedFolder): Promise<void> {
  await removeTree(join(getCheckpointsFolder(place), ...copy));
}

/** Removes all copies of a session. */
export async function removeCopies(place: Workspace, session: string): Promise<void> {
  await removeTree(join(getCheckpointsFolder(place), session));
}

/**
 * Removes the copies and the replay folders of sessions that are over: a crash leaves them behind. `workspaces` has a
 * folder for each user.
 */
export async function removeLeftCopies(
  workspaces: string,
  isOpen: (session: string) => Promise<boolean>,
): Promise<void> {
  for (const user of await listNames(workspaces)) {
    for (const kind of ['checkpoints', 'replays']) {
      const folder = join(workspaces, user, kind);
      for (const session of await listNames(folder))
        if (!(await isOpen(session))) await removeTree(join(folder, session));
    }
  }
}

async function listNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(getErrno(error) ?? '')) return [];
    throw error;
  }
}

function tooLargeError(bytes: number): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The folder of the session has more than the ${formatBytes(maxBytes)} that a checkpoint or fork may copy (${formatBytes(bytes)} at least). Move large files out of it, such as to /workspace/data, and try again.`,
  );
}

function tooManyError(): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The folder of the session has more than the ${maxEntries} files and folders that a checkpoint or fork may copy, or some that cannot be read. Move some out of it, such as to /workspace/data, and try again.`,
  );
}
