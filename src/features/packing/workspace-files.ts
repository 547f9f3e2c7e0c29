/** Reads files of a user's workspace for a crate. Code can change them at any time, so they are checked as they are read. */
import { fstatSync, read, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError } from '../../platform/errors.ts';
import { computeDigest, type Digest } from '../../core/files/files.ts';
import {
  openBelow,
  rootPath,
  joinComponents,
  parseName,
  type Components,
} from '../../platform/paths/paths.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import { canRunsRead } from '../../core/workspaces/workspaces.ts';
import { fileChangedWhilePackingError } from '../crates/contents/archive.ts';

const readWorkspaceFileAt = promisify(read);
const workspaceChunkBytes = 256 * 1024;

/** A file of a user's workspace, by the name that a run has for it. */
export interface WorkspaceFile {
  readonly place: Workspace;
  readonly folder: string;
  readonly path: Components;
  readonly name: string;
  /** Whether a name that begins with a dot is opened; usually not. */
  readonly hidden?: 'allow' | 'refuse';
}

/** Null if the name is in a folder that is gone with its run. */
export function locateWorkspaceFile(
  place: Workspace,
  workingDir: string,
  name: string,
): WorkspaceFile | null {
  const isAbsolute = name.startsWith('/');
  const [root, ...below] = splitPathParts(isAbsolute ? name : `${workingDir}/${name}`);
  if (root !== 'workspace' && root !== 'artifacts') return null;
  return { place, folder: place[root], path: joinComponents(rootPath, ...below.map(parseName)), name };
}

/** Names as on the disk: nothing is decoded. */
function splitPathParts(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

export interface MeasuredFile extends Digest {
  readonly modified: number;
}

/** Reads a file once for its digest, or gives the reason why it cannot be read. One of another size is not read. */
export async function measureWorkspaceFile(
  file: WorkspaceFile,
  signal: AbortSignal,
  size: number | null = null,
): Promise<MeasuredFile | string> {
  try {
    using opened = openWorkspaceFile(file);
    const stats = fstatSync(opened.fd, { bigint: true });
    if (!canRunsRead(file.place, stats)) return 'is not a file of this user';
    if (size !== null && stats.size !== BigInt(size)) return 'was changed since';
    const digest = await computeDigest(readWorkspaceChunks(file, opened.fd, stats, signal));
    return { ...digest, modified: Number(stats.mtimeMs) };
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return 'is gone';
    if (isWorkcrateError(error, 'path_refused')) return 'is a link, hidden or not a file';
    // By whoever writes to it now.
    if (isWorkcrateError(error, 'crate_changed')) return 'was changed since';
    throw error;
  }
}

/** The bytes of a file that was measured before; `crate_changed` if it has changed. */
export async function* rereadWorkspaceFile(
  file: WorkspaceFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  using opened = reopenWorkspaceFile(file);
  const stats = fstatSync(opened.fd, { bigint: true });
  if (!canRunsRead(file.place, stats)) throw fileChangedWhilePackingError(file.name);
  yield* readWorkspaceChunks(file, opened.fd, stats, signal);
}

function openWorkspaceFile({ folder, path, hidden = 'refuse' }: WorkspaceFile) {
  return openBelow(folder, { links: 'refuse', hidden }).open(path);
}

function reopenWorkspaceFile(file: WorkspaceFile) {
  try {
    return openWorkspaceFile(file);
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused'))
      throw fileChangedWhilePackingError(file.name);
    throw error;
  }
}

async function* readWorkspaceChunks(
  { name }: WorkspaceFile,
  fd: number,
  stats: BigIntStats,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const size = Number(stats.size);
  for (let done = 0; done < size;) {
    signal.throwIfAborted();
    // A new buffer each time, since the consumer may keep several.
    const piece = Buffer.allocUnsafe(Math.min(workspaceChunkBytes, size - done));
    const { bytesRead } = await readWorkspaceFileAt(fd, piece, 0, piece.length, done);
    if (bytesRead === 0) throw fileChangedWhilePackingError(name);
    done += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
  const now = fstatSync(fd, { bigint: true });
  if (now.size !== stats.size || now.mtimeNs !== stats.mtimeNs) throw fileChangedWhilePackingError(name);
}
