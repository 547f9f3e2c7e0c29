/**
 * What a run did to the files of its folders: which are compared, how much is named, and how it is recorded and told; also
 * what it left where nothing is kept. The comparison itself is in `core/artifacts/changes.ts`, which `server/` hands in.
 */
import { fstatSync } from 'node:fs';
import { z } from 'zod';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import { joinComponents, parseName, rootPath, type Components } from '../../platform/paths/paths.ts';
import type { Workspace, TemporaryFiles } from '../../ports/sandbox/sandbox.ts';
import { isTemporary, toInsidePath, type InsideFolder } from './working-dir.ts';
import type { Execution } from './fields.ts';

/** Which files changed. Not `complete` where there were too many to compare or to name. */
export interface Difference {
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  readonly complete: boolean;
  /** Where the run was stopped for the disk space that it took; else null. */
  readonly removed: RemovedSpace | null;
}

/** Files that a run had made, and that the server removed. Not `complete` where some may be left. */
export interface RemovedSpace {
  readonly files: number;
  readonly bytes: number;
  readonly complete: boolean;
}

export const noDifference: Difference = {
  created: [],
  modified: [],
  deleted: [],
  complete: true,
  removed: null,
};

/** Of a run at whose end nobody looked. */
export const unseenDifference: Difference = { ...noDifference, complete: false };

export const differenceShape = z.object({
  created: z.array(z.string()),
  modified: z.array(z.string()),
  deleted: z.array(z.string()),
  complete: z.boolean().describe('False where there may be more changes than are named'),
  removed: z
    .object({ files: z.number().int(), bytes: z.number(), complete: z.boolean() })
    .nullable()
    .describe('What it had made and was removed since it took too much of the disk'),
});

export function showDifference({ created, modified, deleted, complete, removed }: Difference) {
  return {
    created: [...created],
    modified: [...modified],
    deleted: [...deleted],
    complete,
    removed: removed && { ...removed },
  };
}

const changeKinds = ['created', 'modified', 'deleted'] as const;

/** What tells one state of a file from another. */
export interface FileState {
  readonly size: bigint;
  readonly inode: bigint;
  /** When anything of it was last changed, in nanoseconds. No program can set this. */
  readonly changed: bigint;
}

export const formatFileState = ({ size, inode, changed }: FileState): string => `${size} ${inode} ${changed}`;

/** The state of an open file. */
export function readFileState(fd: number): FileState {
  const { size, ino: inode, ctimeNs: changed } = fstatSync(fd, { bigint: true });
  return { size, inode, changed };
}

export const isInState = (fd: number, state: FileState): boolean =>
  formatFileState(readFileState(fd)) === formatFileState(state);

/** The regular files below a folder at one time, by their paths from there. */
export interface FolderSnapshot {
  readonly files: ReadonlyMap<string, FileState>;
  /** False where some were out of sight. */
  readonly sawAll: boolean;
  /** How many have names that cannot be shown. */
  readonly unreadable: number;
  /** In nanoseconds since 1970, and rather too early than too late. */
  readonly takenAt: bigint;
}

/** How the files of a folder are compared (artifacts/changes.ts). */
export interface Changes {
  /** `directory` is trusted, the way from there is not. */
  snapshot(directory: string, below: Components): Promise<FolderSnapshot>;
  difference(before: FolderSnapshot, after: FolderSnapshot): FolderDifference;
}

type FolderDifference = Omit<Difference, 'removed'> & {
  readonly omitted: Readonly<Record<(typeof changeKinds)[number], number>>;
};

/** Names of each kind in a result, and the bytes that all of them take as JSON. */
const maxDiffNames = 1000;
const maxDiffBytes = 64 * 1024;

interface ComparedFolder {
  readonly base: string;
  readonly below: Components;
  /** Its path inside. */
  readonly inside: string;
  /** The prefix of the names of its files. */
  readonly prefix: string;
}

/** A folder that is compared, as it was when the run started. */
export interface FolderBefore extends ComparedFolder {
  readonly snapshot: FolderSnapshot;
}

/** A file that a run created or modified, as it was when the run ended. */
export interface MadeFile {
  /** As seen inside. */
  readonly path: string;
  readonly state: FileState;
}

/** The same, with where it is on this machine. */
export interface ChangedFile extends MadeFile {
  readonly base: string;
  /** Null where no path leads there. */
  readonly below: Components | null;
  /** Whether the run made it, and not only changed it. */
  readonly isNew: boolean;
}

export interface Comparison {
  /** The working folder first, unless it is new in every run. */
  readonly before: readonly FolderBefore[];
  /** Tells what has changed since. */
  end(): Promise<EndedComparison>;
}

export interface EndedComparison {
  readonly difference: Difference;
  readonly made: readonly ChangedFile[];
  /** How many more it made or changed than can be named. */
  readonly moreMade: number;
}

/**
 * Looks at the working folder and at /artifacts, and can tell later what has changed since. A working folder that is
 * fresh was made a moment ago and holds nothing.
 */
export async function startComparison(
  changes: Changes,
  place: Workspace,
  folder: InsideFolder,
  isFresh: boolean,
): Promise<Comparison> {
  const look = (one: ComparedFolder): Promise<FolderSnapshot> => changes.snapshot(one.base, one.below);
  const lookAtAll = (folders: readonly ComparedFolder[]): Promise<FolderBefore[]> =>
    Promise.all(folders.map(async (one) => ({ ...one, snapshot: await look(one) })));
  const [first, ...others] = listComparedFolders(place, folder);
  const before = isFresh
    ? toFreshFolder(first!, await lookAtAll(others))
    : await lookAtAll([first!, ...others]);
  return {
    before,
    async end() {
      const after = await Promise.all(before.map(look));
      const found = before.map(({ snapshot }, at) => changes.difference(snapshot, after[at]!));
      return {
        difference: mergeDifferences(before.map(({ prefix }, at) => prefixNames(found[at]!, prefix))),
        made: before.flatMap((folder, at) => listMade(folder, found[at]!, after[at]!)),
        moreMade: found.reduce((sum, { omitted }) => sum + omitted.created + omitted.modified, 0),
      };
    },
  };
}

/** Nobody has to look into it. It was empty when the others were looked at. */
function toFreshFolder(fresh: ComparedFolder, others: readonly FolderBefore[]): FolderBefore[] {
  const { takenAt } = others[0]!.snapshot;
  return [{ ...fresh, snapshot: { files: new Map(), sawAll: true, unreadable: 0, takenAt } }, ...others];
}

function listMade(
  { base, below, inside }: ComparedFolder,
  { created, modified }: Pick<Difference, 'created' | 'modified'>,
  { files }: FolderSnapshot,
): ChangedFile[] {
  const toMade = (name: string, isNew: boolean): ChangedFile[] => {
    const state = files.get(name);
    if (state === undefined) return [];
    const rest = parseBelow(name);
    const way = rest && joinComponents(below, rest);
    return [{ path: `${inside}/${name}`, state, base, below: way, isNew }];
  };
  return [
    ...created.flatMap((name) => toMade(name, true)),
    ...modified.flatMap((name) => toMade(name, false)),
  ];
}

/** Literally, since it is the name of a file; null for what cannot be one. */
export function parseBelow(name: string): Components | null {
  try {
    return joinComponents(...name.split('/').map(parseName));
  } catch (error) {
    if (isWorkcrateError(error)) return null;
    throw error;
  }
}

/** /artifacts is looked at too, unless the working folder is in it; /tmp and the home folder are gone with the run. */
function listComparedFolders(place: Workspace, folder: InsideFolder): ComparedFolder[] {
  const { root, below } = folder;
  const inside = toInsidePath(folder);
  const working = isTemporary(root) ? [] : [{ base: place[root], below, inside, prefix: '' }];
  if (root === 'artifacts') return working;
  const artifacts = { base: place.artifacts, below: rootPath, inside: '/artifacts', prefix: '/artifacts/' };
  return [...working, artifacts];
}

function prefixNames(found: FolderDifference, prefix: string): Difference {
  const names = (kind: (typeof changeKinds)[number]): string[] => found[kind].map((name) => prefix + name);
  const omitted = changeKinds.some((kind) => found.omitted[kind] > 0);
  return {
    ...noDifference,
    created: names('created'),
    modified: names('modified'),
    deleted: names('deleted'),
    complete: found.complete && !omitted,
  };
}

function mergeDifferences(parts: readonly Difference[]): Difference {
  let left = maxDiffBytes;
  const fits = (name: string): boolean => (left -= Buffer.byteLength(JSON.stringify(name))) >= 0;
  const listed = (kind: (typeof changeKinds)[number]): string[] => {
    const names = parts.flatMap((part) => part[kind]).slice(0, maxDiffNames);
    return names.slice(0, countWhile(names, fits));
  };
  const names = { created: listed('created'), modified: listed('modified'), deleted: listed('deleted') };
  const isWhole = changeKinds.every(
    (kind) => names[kind].length === parts.reduce((count, part) => count + part[kind].length, 0),
  );
  return { ...names, removed: null, complete: isWhole && parts.every((part) => part.complete) };
}

function countWhile(names: readonly string[], holds: (name: string) => boolean): number {
  const end = names.findIndex((name) => !holds(name));
  return end === -1 ? names.length : end;
}

export const temporaryFilesShape = z
  .object({
    files: z.array(z.object({ path: z.string(), size: z.number() })),
    more: z.number().int().describe('Files beside these'),
    complete: z.boolean().describe('False where there may be more still'),
  })
  .nullable()
  .describe('Files that it left in /tmp or ~, which are gone with it; null where nobody could look');

export function showTemporaryFiles(left: TemporaryFiles | null): z.input<typeof temporaryFilesShape> {
  if (left === null) return null;
  return { ...left, files: left.files.map(({ path, size }) => ({ path, size })) };
}

/** Whether there is anything to tell: most runs leave nothing there. */
export const hasTemporaryFiles = (left: TemporaryFiles | null): left is TemporaryFiles =>
  left !== null && (left.files.length > 0 || left.more > 0 || !left.complete);

type LeftBehind = Pick<Execution, 'temporaryFiles' | 'workingDir' | 'sessionId'>;

/** Both in a line each, with the remedy. */
export function toTemporaryLines({ temporaryFiles, workingDir, sessionId }: LeftBehind): string[] {
  const end = sessionId === null ? 'the run' : 'the session';
  const isTemporary = /^\/(?:tmp|home\/user)\//.test(workingDir);
  return [
    ...(isTemporary
      ? [
          `${quoteName(workingDir)} was made empty for ${end} and is gone with it. It is a folder of the sandbox, not the one of that name on your machine: for files of yours, leave working_dir out and name them in client_files or files.`,
        ]
      : []),
    ...(hasTemporaryFiles(temporaryFiles) ? [nameTemporaryFiles(temporaryFiles, end)] : []),
  ];
}

function nameTemporaryFiles({ files, more, complete }: TemporaryFiles, end: string): string {
  const names = files.map(({ path, size }) => `${quoteName(path)} (${formatBytes(size)})`).join(', ');
  const others = [
    ...(more === 0 ? [] : [`${more} more`]),
    ...(complete ? [] : ['perhaps more: not all could be looked at']),
  ].join(', ');
  const all = [names, others].filter((part) => part !== '').join(' and ');
  return `Not kept, since /tmp and ~ are gone with ${end}: ${all}. Write to /artifacts what is to stay.`;
}
