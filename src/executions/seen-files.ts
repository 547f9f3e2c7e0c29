/**
 * Which files a run may have read, with the state that each had when the run started: the newest of its working folder,
 * and those that it said it opened. What the run itself made is not among them. It reads no content.
 */
import { posix } from 'node:path';
import { fstatSync } from 'node:fs';
import { isWorkcrateError } from '../errors.ts';
import { joinComponents, openBelow, type Components } from '../paths/paths.ts';
import type { Workspace } from '../sandbox/sandbox.ts';
import {
  parseBelow,
  type Comparison,
  type FileState,
  type FolderBefore,
  type MadeFile,
} from './folder-diff.ts';
import type { InputFileRecord } from './input-files.ts';
import { toInsidePath, type InsideFolder } from './working-dir.ts';

/** A file that was there when the run started. */
export interface SeenFile extends MadeFile {
  readonly base: string;
  readonly below: Components;
  /** What the run itself may have done to it, unless an earlier run is known to have left it in this state. */
  readonly doubt: 'none' | 'changed' | 'made';
}

interface FoundFiles {
  readonly files: readonly SeenFile[];
  /** How many there were. */
  readonly total: number;
  readonly sawAll: boolean;
}

/** The newest files of the working folder, without those that the run was given. */
export function chooseFound(
  { before }: Comparison,
  folder: InsideFolder,
  given: readonly InputFileRecord[],
  most: number,
): FoundFiles {
  const working = before.find(({ inside }) => inside === toInsidePath(folder));
  if (working === undefined) return { files: [], total: 0, sawAll: true };
  const { files, sawAll } = working.snapshot;
  const names = new Set(given.map(({ name }) => name));
  const total = files.size - [...names].filter((name) => files.has(name)).length;
  if (total === 0) return { files: [], total, sawAll };
  const oldest = findNth(
    [...files.values()].map(({ changed }) => Number(changed)),
    most + names.size,
  );
  const newest = [...files]
    .filter(([name, { changed }]) => Number(changed) >= oldest && !names.has(name))
    .toSorted(([, a], [, b]) => Number(b.changed - a.changed))
    .slice(0, most);
  return { files: newest.flatMap(([name, state]) => toSeenFile(working, name, state) ?? []), total, sawAll };
}

/** The nth greatest: sorting numbers takes a fraction of what sorting files does. */
function findNth(numbers: readonly number[], n: number): number {
  if (numbers.length <= n) return 0;
  return Float64Array.from(numbers).sort()[numbers.length - n]!;
}

function toSeenFile({ base, below, inside }: FolderBefore, name: string, state: FileState): SeenFile | null {
  const path = parseBelow(name);
  return (
    path && { path: `${inside}/${name}`, base, below: joinComponents(below, path), state, doubt: 'none' }
  );
}

interface OpenedFiles {
  readonly files: readonly SeenFile[];
  /** Whether some could not be looked at, such as those behind a link. */
  readonly isPartial: boolean;
}

interface ResolveOptions {
  readonly place: Workspace;
  readonly folder: InsideFolder;
  readonly given: readonly InputFileRecord[];
}

/** What of the paths that a run named was there when it started. Its own inputs and what it made are left out. */
export function resolveOpened(
  { before }: Comparison,
  { place, folder, given }: ResolveOptions,
  paths: Iterable<string>,
): OpenedFiles {
  const working = toInsidePath(folder);
  const inputs = new Set(given.map(({ name }) => `${working}/${name}`));
  const files = new Map<string, SeenFile>();
  let isPartial = false;
  for (const named of paths) {
    const path = posix.normalize(toUsualPath(place, named));
    if (inputs.has(path) || files.has(path) || isOfInterpreter(path)) continue;
    const seen = findAtStart(before, path) ?? findUnchanged(before, place, path);
    if (seen === 'unseen') isPartial = true;
    else if (seen !== null) files.set(path, seen);
  }
  return { files: [...files.values()], isPartial };
}

/** Where nothing is mounted, code names the real folders. */
function toUsualPath(place: Workspace, path: string): string {
  for (const root of ['workspace', 'artifacts'] as const)
    if (path.startsWith(`${place[root]}/`)) return `/${root}${path.slice(place[root].length)}`;
  return path;
}

const isOfInterpreter = (path: string): boolean => path.endsWith('.pyc');

function findAtStart(before: readonly FolderBefore[], path: string): SeenFile | null {
  for (const folder of before) {
    const name = path.startsWith(`${folder.inside}/`) ? path.slice(folder.inside.length + 1) : null;
    const state = name === null ? undefined : folder.snapshot.files.get(name);
    if (state !== undefined) return toSeenFile(folder, name!, state);
  }
  return null;
}

/** A file outside of the folders that are compared, or out of sight in them. Null for what is no file, or was made here. */
function findUnchanged(
  before: readonly FolderBefore[],
  place: Workspace,
  path: string,
): SeenFile | null | 'unseen' {
  if (before.some(({ inside, snapshot }) => path.startsWith(`${inside}/`) && snapshot.sawAll)) return null;
  const [, root, name] = /^\/(workspace|artifacts)\/(.+)$/s.exec(path) ?? [];
  const below = name === undefined ? null : parseBelow(name);
  if (below === null) return null;
  const base = place[root as 'workspace' | 'artifacts'];
  const takenAt = before[0]?.snapshot.takenAt ?? 0n;
  try {
    using file = openBelow(base, { links: 'within' }).open(below);
    const { size, ino: inode, ctimeNs: changed, birthtimeNs: born } = fstatSync(file.fd, { bigint: true });
    const doubt = born >= takenAt ? 'made' : changed >= takenAt ? 'changed' : 'none';
    return { path, base, below, state: { size, inode, changed }, doubt };
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return isWorkcrateError(error, 'path_not_found') ? null : 'unseen';
  }
}
