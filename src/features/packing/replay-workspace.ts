/**
 * The folders that a crate is replayed in: made for one replay, filled with inputs, compared before and after each step.
 * Code has run in them, so that no path there is trusted after the first step.
 */
import { fchownSync, mkdirSync, write } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { difference, snapshot, type FolderChanges } from '../../core/artifacts/changes.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import {
  openBelow,
  rootPath,
  joinComponents,
  parseName,
  parsePath,
  removeTree,
  type Components,
} from '../../platform/paths/paths.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import { giveFolderTo } from '../../core/workspaces/workspaces.ts';
import { locateWorkspaceFile, measureWorkspaceFile, type WorkspaceFile } from './workspace-files.ts';

export interface ReplayWorkspace extends AsyncDisposable {
  readonly place: Workspace;
}

/**
 * Makes new folders for one replay below `parent`, so that it sees and overwrites nothing of anybody. They are removed
 * afterwards. `uid` is as in every workspace: that of the run if the server is root, else null.
 */
export async function createReplayWorkspace(parent: string, uid: number | null): Promise<ReplayWorkspace> {
  const folder = await mkdtemp(join(parent, 'workcrate-replay-'));
  const remove = () => removeTree(folder);
  try {
    const [workspace, artifacts] = [join(folder, 'workspace'), join(folder, 'artifacts')];
    const place = { uid, workspace, artifacts, packages: null };
    for (const path of [place.workspace, place.artifacts]) makeReplayRoot(path, uid);
    return { place, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Using the path is safe, since no code has run there yet. */
function makeReplayRoot(path: string, uid: number | null): void {
  mkdirSync(path, { mode: 0o700, recursive: true });
  if (uid !== null) giveFolderTo(path, uid);
}

/** A path inside the sandbox, as the folder on this machine and the way from there. */
function resolveInside(place: Workspace, insidePath: string): { base: string; path: Components } {
  const [, root, below = ''] = /^\/(workspace|artifacts)(?:\/(.*))?$/s.exec(insidePath) ?? [];
  if (root === undefined)
    throw new WorkcrateError('path_refused', `${quoteInsidePath(insidePath)} is not a path that is kept.`);
  const base = root === 'workspace' ? place.workspace : place.artifacts;
  return { base, path: below === '' ? rootPath : parsePath(below) };
}

/** Makes the working folder of a step, if no step before it has. */
export function makeReplayFolder(place: Workspace, folder: string): void {
  const { base, path } = resolveInside(place, folder);
  if (path.length > 0) openBelow(base).makeFolder(path, place.uid);
}

const writeReplayBytes = promisify(write);

/** Writes an input with its folders, all owned by the run's user, and gives its size. What was there is replaced. */
export async function writeReplayInput(
  place: Workspace,
  insidePath: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  using file = createReplayFile(place, insidePath);
  let size = 0;
  for await (const chunk of bytes) {
    for (let done = 0; done < chunk.length;)
      done += (await writeReplayBytes(file.fd, chunk, done)).bytesWritten;
    size += chunk.length;
  }
  if (place.uid !== null) fchownSync(file.fd, place.uid, place.uid);
  return size;
}

function createReplayFile(place: Workspace, insidePath: string) {
  const { base, path } = resolveInside(place, insidePath);
  const root = openBelow(base);
  try {
    root.makeFolder(joinComponents(...path.slice(0, -1).map(parseName)), place.uid);
    removeFileIfThere(base, path);
    return root.create(path);
  } catch (error) {
    if (!isPathConflict(error)) throw error;
    throw new WorkcrateError(
      'unsupported',
      `Two files of the crate need the same path: ${quoteInsidePath(insidePath)} is one of them.`,
      { cause: error },
    );
  }
}

function removeFileIfThere(base: string, path: Components): void {
  try {
    openBelow(base).remove(path);
  } catch (error) {
    if (!isWorkcrateError(error, 'path_not_found')) throw error;
  }
}

/** Whether a file is where a folder must be, or something exists where the file must be. */
function isPathConflict(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_refused'))
    return error.details['kind'] === 'not_folder' || error.details['kind'] === 'not_empty';
  return isWorkcrateError(error, 'already_exists') || isWorkcrateError(error, 'path_not_found');
}

const quoteInsidePath = (path: string): string => JSON.stringify(path.slice(0, 200));

/** The working folder and /artifacts, as they are compared for every run. */
export async function snapshotReplayFolders(place: Workspace, folder: string) {
  const { base, path } = resolveInside(place, folder);
  const working = { prefix: `${folder}/`, files: await snapshot(base, path) };
  if (base === place.artifacts) return [working];
  return [working, { prefix: '/artifacts/', files: await snapshot(place.artifacts, rootPath) }];
}

type ReplaySnapshot = Awaited<ReturnType<typeof snapshotReplayFolders>>;

export interface ReplayChanges {
  /** Paths inside of what was made or changed. */
  readonly paths: readonly string[];
  readonly complete: boolean;
}

export function diffReplaySnapshots(before: ReplaySnapshot, after: ReplaySnapshot): ReplayChanges {
  const isAll = ({ complete, omitted }: FolderChanges): boolean =>
    complete && omitted.created + omitted.modified === 0;
  const changes = before.map(({ prefix, files }, at) => {
    return { prefix, ...difference(files, after[at]!.files) };
  });
  return {
    paths: changes.flatMap(({ prefix, created, modified }) =>
      [...created, ...modified].map((name) => prefix + name),
    ),
    complete: changes.every(isAll),
  };
}

/** The sha256 of a file in the replay's folders. Null if no crate can contain it, such as links and hidden files. */
export const hashReplayFile = (
  place: Workspace,
  insidePath: string,
  signal: AbortSignal,
): Promise<string | null> => hashWorkspaceFile(locateWorkspaceFile(place, '/', insidePath), signal);

/** The same of what a step made, hidden files too: no crate contains these, but their hashes are recorded. */
export function hashReplayResult(
  place: Workspace,
  insidePath: string,
  signal: AbortSignal,
): Promise<string | null> {
  const file = locateWorkspaceFile(place, '/', insidePath);
  return hashWorkspaceFile(file && { ...file, hidden: 'allow' }, signal);
}

async function hashWorkspaceFile(file: WorkspaceFile | null, signal: AbortSignal): Promise<string | null> {
  const measured = file && (await measureWorkspaceFile(file, signal));
  return measured === null || typeof measured === 'string' ? null : measured.sha256;
}
