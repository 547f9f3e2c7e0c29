/**
 * What a run may have read: looks at its folders when it starts, and listens to what Python says that it opened. Nothing
 * that code reports is believed beyond which of the user's own files to name.
 * Files are hashed once for each state, within bounds of bytes and time; code may change or exchange a file in between, and
 * then there is no hash. It also knows which run made a file last, by its path and state.
 */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { getErrno, isWorkcrateError } from '../../platform/errors.ts';
import type { Queries } from '../../ports/database/database.ts';
import {
  openBelow,
  rootPath,
  type TreeEntry,
  joinComponents,
  type Components,
} from '../../platform/paths/paths.ts';
import type { Language, Report, Workspace } from '../../ports/sandbox/sandbox.ts';
import {
  formatFileState,
  isInState,
  parseBelow,
  type Comparison,
  type FileState,
  type FolderBefore,
  type MadeFile,
} from '../../core/runs/difference.ts';
import type { InputFileRecord } from '../../core/runs/executions.ts';
import { isTemporary, toInsidePath, type InsideFolder } from '../../core/runs/working-dir.ts';
import type { InputKnowledge, KnownInput } from './record.ts';
import { z } from 'zod';
import { posix } from 'node:path';
import { createHash } from 'node:crypto';
import { fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';

export interface WatchOptions {
  readonly database: Queries;
  readonly hashes: FileHashes;
  readonly owner: string;
  readonly place: Workspace;
  readonly folder: InsideFolder;
  readonly language: Language;
  /** Those are its inputs already. */
  readonly given: readonly InputFileRecord[];
}

export interface InputWatch {
  /** Takes the reports of the run one after the other, those of other kinds too. */
  take(report: Report): void;
  /** What the run may have read. To be called once, when it is over. */
  end(): Promise<InputKnowledge>;
}

/** Of one look, at the start or at the end. */
const maxHashedBytes = 1024 ** 3;
const maxHashingMs = 1000;
const maxKnownInputs = 100;
const maxKnownBytes = 32 * 1024;

const startBudget = (): HashBudget => ({ bytes: maxHashedBytes, until: performance.now() + maxHashingMs });

/** Looks at what is there when the run starts. */
export async function startWatch(options: WatchOptions, comparison: Comparison): Promise<InputWatch> {
  const chosen = chooseFound(comparison, options.folder, options.given, maxKnownInputs);
  const found = await identify(options, chosen.files, 'found');
  const reads = createReportedReads();
  const hasOthers = hasOtherFiles(options, comparison);
  return {
    take: reads.take,
    async end() {
      const opened = resolveOpened(comparison, options, reads.paths);
      const known = await nameAll(options, found, opened.files);
      const kept = keepWithinBounds(known);
      const notes = [
        ...describeUnseen(options.language, reads, hasOthers),
        ...describeLeftOut(chosen.total, kept.length < known.length),
        ...describeUnknown(kept, chosen.sawAll && !opened.isPartial),
      ];
      return {
        knownInputs: kept,
        inputsMayBeIncomplete: notes.length > 0,
        inputNotes: notes,
        libraries: reads.libraries,
      };
    },
  };
}

async function identify(
  { hashes, database, owner }: WatchOptions,
  files: readonly SeenFile[],
  how: KnownInput['how'],
): Promise<KnownInput[]> {
  if (files.length === 0) return [];
  const makers = await findMakers(database, owner, files);
  const budget = startBudget();
  const known: KnownInput[] = [];
  for (const { path, base, below, state, doubt } of files) {
    const madeBy = makers.get(path) ?? null;
    if (doubt === 'made' && madeBy === null) continue;
    const isSure = doubt === 'none' || madeBy !== null;
    const sha256 = isSure ? await hashes.hash(base, below, state, budget) : null;
    known.push({ path, size: Number(state.size), sha256, how, madeBy });
  }
  return known;
}

/** What was opened first; what was found there and not opened comes behind. */
async function nameAll(
  options: WatchOptions,
  found: readonly KnownInput[],
  opened: readonly SeenFile[],
): Promise<KnownInput[]> {
  const byPath = new Map(found.map((file) => [file.path, file]));
  const further = await identify(
    options,
    opened.filter(({ path }) => !byPath.has(path)).slice(0, maxKnownInputs),
    'opened',
  );
  const openedPaths = new Set(opened.map(({ path }) => path));
  const both = found.filter(({ path }) => openedPaths.has(path));
  return [
    ...both.map((file) => ({ ...file, how: 'opened' as const })),
    ...further,
    ...found.filter(({ path }) => !openedPaths.has(path)),
  ];
}

function keepWithinBounds(known: readonly KnownInput[]): KnownInput[] {
  let bytes = 0;
  return known
    .slice(0, maxKnownInputs)
    .filter((file) => (bytes += Buffer.byteLength(JSON.stringify(file))) <= maxKnownBytes);
}

/** Whether there are files that the run can read and that nobody looked at. Folders count: who knows what is in them. */
function hasOtherFiles({ place, folder }: WatchOptions, { before }: Comparison): boolean {
  const { root, below } = folder;
  const artifacts = before.find(({ inside }) => inside === '/artifacts' && root !== 'artifacts');
  if (artifacts !== undefined && (artifacts.snapshot.files.size > 0 || !artifacts.snapshot.sawAll))
    return true;
  if (isTemporary(root)) return hasEntryBeside(place.workspace, null);
  const other = root === 'artifacts' && hasEntryBeside(place.workspace, null);
  return other || below.length > 1 || (below.length === 1 && hasEntryBeside(place[root], below[0]!));
}

function hasEntryBeside(base: string, name: string | null): boolean {
  try {
    const entries: Iterable<TreeEntry> = openBelow(base).tree(rootPath, { mostEntries: 2, mostDepth: 0 });
    return [...entries].some(({ path }) => path !== name);
  } catch (error) {
    // Where nobody can look, there may be something.
    if (isWorkcrateError(error)) return true;
    throw error;
  }
}

const languageNames: Readonly<Record<Language, string>> = { python: 'Python', node: 'Node', bash: 'Bash' };

function describeUnseen(language: Language, reads: ReportedReads, hasOthers: boolean): string[] {
  if (language !== 'python')
    return hasOthers
      ? [
          `What ${languageNames[language]} opens is not seen, and it could read other files of /workspace and /artifacts.`,
        ]
      : [];
  if (reads.isComplete === false)
    return [
      'Python could not tell all that was opened: there was too much, or other programs opened files too.',
    ];
  return reads.isComplete === null && hasOthers ? ['Python did not report what it opened.'] : [];
}

function describeLeftOut(total: number, isCut: boolean): string[] {
  return isCut || total > maxKnownInputs
    ? [
        `Its working directory had ${total} files; at most ${maxKnownInputs} inputs are named, the newest of them.`,
      ]
    : [];
}

function describeUnknown(known: readonly KnownInput[], sawAll: boolean): string[] {
  const count = known.filter(({ sha256 }) => sha256 === null).length;
  return [
    ...(count > 0
      ? [
          `${count} of the files could not be hashed: they changed, or took too long, or more than 1 GB together.`,
        ]
      : []),
    ...(sawAll ? [] : ['Not all files could be looked at.']),
  ];
}

interface ReportedReads {
  /** As code named them. */
  readonly paths: ReadonlySet<string>;
  /** False where Python could not tell all, null where it told nothing. */
  readonly isComplete: boolean | null;
  readonly libraries: Readonly<Record<string, string>>;
  take(report: Report): void;
}

const maxPaths = 1000;
const maxPathLength = 4096;
const maxLibraries = 200;
const maxLibraryLength = 100;

const openedShape = z.object({
  type: z.literal('opened'),
  paths: z.array(z.string()),
  complete: z.boolean(),
});
const librariesShape = z.object({
  type: z.literal('libraries'),
  versions: z.record(z.string(), z.string()),
});

function createReportedReads(): ReportedReads {
  const paths = new Set<string>();
  const libraries = new Map<string, string>();
  let isComplete: boolean | null = null;

  function takeOpened({ paths: named, complete }: z.output<typeof openedShape>): void {
    const usable = named.filter((path) => path.length <= maxPathLength).slice(0, maxPaths - paths.size);
    for (const path of usable) paths.add(path);
    isComplete = complete && usable.length === named.length && isComplete !== false;
  }

  return {
    paths,
    get isComplete() {
      return isComplete;
    },
    get libraries() {
      return Object.fromEntries(libraries);
    },
    take({ header }) {
      const opened = openedShape.safeParse(header);
      if (opened.success) return takeOpened(opened.data);
      const found = librariesShape.safeParse(header);
      if (!found.success) return;
      for (const [name, version] of Object.entries(found.data.versions))
        if (libraries.size < maxLibraries && Math.max(name.length, version.length) <= maxLibraryLength)
          libraries.set(name.toWellFormed(), version.toWellFormed());
    },
  };
}

/** A file that was there when the run started. */
interface SeenFile extends MadeFile {
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
function chooseFound(
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
function resolveOpened(
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

/** What all hashes of one run may cost. */
interface HashBudget {
  bytes: number;
  /** By `performance.now()`. */
  readonly until: number;
}

export type FileHashes = ReturnType<typeof createFileHashes>;

const maxKnownHashes = 20_000;
const hashChunkBytes = 256 * 1024;
/** The kernel stamps files by a clock that may be a tick behind: a later change may get the same time. */
const clockLagNs = 20_000_000n;

const readInto = promisify(read);

/** Remembers what it has hashed, so that a folder that many runs work in is not read by each of them. */
export function createFileHashes() {
  const known = new BoundedMap<string, string>({ mostEntries: maxKnownHashes });
  return {
    /** The sha256 of a regular file in this state; null where it is another by now, or the budget is used up. */
    async hash(base: string, path: Components, state: FileState, budget: HashBudget): Promise<string | null> {
      const key = `${base} ${formatFileState(state)}`;
      const earlier = known.get(key);
      if (earlier !== undefined) return earlier;
      if (BigInt(budget.bytes) < state.size || performance.now() > budget.until) return null;
      budget.bytes -= Number(state.size);
      const isSettled = state.changed + clockLagNs < BigInt(Date.now()) * 1_000_000n;
      const sha256 = await hashInState(base, path, state, budget);
      if (sha256 !== null && isSettled) known.set(key, sha256);
      return sha256;
    },
  };
}

async function hashInState(
  base: string,
  path: Components,
  state: FileState,
  budget: HashBudget,
): Promise<string | null> {
  try {
    using file = openBelow(base).open(path);
    if (!isInState(file.fd, state)) return null;
    const sha256 = await hashDescriptor(file.fd, Number(state.size), budget.until);
    return isInState(file.fd, state) ? sha256 : null;
  } catch (error) {
    // Gone, a link, folder or FIFO in its place, or bytes that the disk cannot read: that keeps nobody from running code.
    if (isWorkcrateError(error) || getErrno(error) !== null) return null;
    throw error;
  }
}

/** Hashes so many bytes of an open file, and hands on each piece; null where there are fewer, or the time is up. */
export async function hashDescriptor(
  fd: number,
  size: number,
  until: number,
  handOn: (piece: Buffer) => Promise<void> | void = () => {},
): Promise<string | null> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.min(hashChunkBytes, size));
  for (let at = 0; at < size;) {
    const most = Math.min(chunk.length, size - at);
    // A small file takes less time than a turn of the thread pool.
    const bytesRead =
      size <= hashChunkBytes
        ? readSync(fd, chunk, 0, most, at)
        : (await readInto(fd, chunk, 0, most, at)).bytesRead;
    if (bytesRead === 0 || performance.now() > until) return null;
    const piece = chunk.subarray(0, bytesRead);
    hash.update(piece);
    await handOn(piece);
    at += bytesRead;
  }
  return hash.digest('hex');
}

/** Of one run; of further files nobody knows later who made them. */
const maxMadeFiles = 200;
const maxMadeBytes = 16 * 1024;

/** Remembers what a run made. Its row has to be there. */
export async function recordMakers(
  made: readonly MadeFile[],
  queries: Queries,
  { id, owner }: { readonly id: string; readonly owner: string },
): Promise<void> {
  const kept = keepFirst(made);
  if (kept.length === 0) return;
  await queries.query(
    `INSERT INTO made_files (owner, path, execution_id, state) VALUES ${kept.map(() => '(?, ?, ?, ?)').join(', ')}
     ON CONFLICT (owner, path) DO UPDATE SET execution_id = excluded.execution_id, state = excluded.state`,
    ...kept.flatMap(({ path, state }) => [owner, path, id, formatFileState(state)]),
  );
}

function keepFirst(made: readonly MadeFile[]): readonly MadeFile[] {
  let bytes = 0;
  return made.slice(0, maxMadeFiles).filter(({ path }) => (bytes += Buffer.byteLength(path)) <= maxMadeBytes);
}

/** The executions that made these files, by the paths of those that one is known of. */
async function findMakers(
  queries: Queries,
  owner: string,
  files: readonly MadeFile[],
): Promise<ReadonlyMap<string, string>> {
  if (files.length === 0) return new Map();
  const rows = await queries.query<{ path: string; execution_id: string; state: string }>(
    `SELECT path, execution_id, state FROM made_files WHERE owner = ? AND path IN (${files.map(() => '?').join(', ')})`,
    owner,
    ...files.map(({ path }) => path),
  );
  const states = new Map<string, FileState>(files.map(({ path, state }) => [path, state]));
  return new Map(
    rows
      .filter(({ path, state }) => formatFileState(states.get(path)!) === state)
      .map(({ path, execution_id: id }) => [path, id]),
  );
}
