import { fchownSync, mkdirSync, write } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { belowRoot, joined, parseName, parsePath, removeTree, type Components } from '../../paths/paths.ts';
import { giveTo } from '../../places/places.ts';
import type { Place } from '../../sandbox/sandbox.ts';

const writeBytes = promisify(write);

/** Where a replay runs, as seen inside. */
export const replayFolder = '/workspace/replay';
const folderName = 'replay';

export interface ReplayPlace extends AsyncDisposable {
  readonly place: Place;
}

/**
 * Folders for one replay, so that it meets nothing of anybody's and overwrites nothing. They are below `parent`, and
 * gone afterwards. `uid` is as in every place: the one of the run where this is root, else null.
 */
export async function openReplayPlace(parent: string, uid: number | null): Promise<ReplayPlace> {
  const folder = await mkdtemp(join(parent, 'workcrate-replay-'));
  const remove = () => removeTree(folder);
  try {
    const place = { uid, workspace: join(folder, 'workspace'), artifacts: join(folder, 'artifacts') };
    for (const path of [place.workspace, place.artifacts, join(place.workspace, folderName)])
      makeFolder(path, uid);
    return { place, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** By path, since no code has run there yet. */
function makeFolder(path: string, uid: number | null): void {
  mkdirSync(path, { mode: 0o700, recursive: true });
  if (uid !== null) giveTo(path, uid);
}

function createBelow(base: string, path: Components, uid: number | null) {
  const root = belowRoot(base);
  try {
    root.makeFolder(joined(...path.slice(0, -1).map(parseName)), uid);
    return root.create(path);
  } catch (error) {
    if (!isInTheWay(error)) throw error;
    throw new WorkcrateError(
      'unsupported',
      `Two inputs of the crate want the same place: ${JSON.stringify(path.join('/').slice(0, 200))} is one of them.`,
      { cause: error },
    );
  }
}

/** Whether a file is where a folder has to be, or anything where the file has to be. */
function isInTheWay(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_refused')) return error.details['kind'] === 'not_folder';
  return isWorkcrateError(error, 'already_exists') || isWorkcrateError(error, 'path_not_found');
}

/** Writes a file that the run is given, and gives its size. Its folders are made, and all of it belongs to the run. */
export async function giveFile(
  { uid, workspace, artifacts }: Place,
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const isArtifact = name.startsWith('/artifacts/');
  const base = isArtifact ? artifacts : join(workspace, folderName);
  const path = parsePath(isArtifact ? name.slice('/artifacts/'.length) : name);
  using file = createBelow(base, path, uid);
  let size = 0;
  for await (const chunk of bytes) {
    for (let done = 0; done < chunk.length;) done += (await writeBytes(file.fd, chunk, done)).bytesWritten;
    size += chunk.length;
  }
  if (uid !== null) fchownSync(file.fd, uid, uid);
  return size;
}
