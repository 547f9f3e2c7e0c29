/**
 * What a run may read and what it changes: looks at its folders when it starts, listens to what Python says that it
 * opened, and compares at the end. Nothing that code reports is believed beyond which of the user's own files to name.
 * How files are hashed is in `file-hashes.ts`, who made them in `file-makers.ts`, what is recorded in `known-inputs.ts`.
 */
import { isWorkcrateError } from '../errors.ts';
import type { Queries } from '../database/database.ts';
import type { Log } from '../observability/log.ts';
import { openBelow, rootPath, type TreeEntry } from '../paths/paths.ts';
import type { Language, Report, Workspace } from '../sandbox/sandbox.ts';
import type { FileHashes, HashBudget } from './file-hashes.ts';
import { findMakers } from './file-makers.ts';
import { startComparison, type Changes, type Comparison, type EndedComparison } from './folder-diff.ts';
import type { InputFileRecord } from './input-files.ts';
import { unknownInputs, type InputKnowledge, type KnownInput } from './known-inputs.ts';
import { noDifference, unseenDifference } from './difference.ts';
import { chooseFound, resolveOpened, type SeenFile } from './seen-files.ts';
import { createReportedReads, type ReportedReads } from './reported-reads.ts';
import { isTemporary, type InsideFolder } from './working-dir.ts';

export interface WatchOptions {
  readonly changes: Changes;
  readonly database: Queries;
  readonly hashes: FileHashes;
  readonly owner: string;
  readonly place: Workspace;
  readonly folder: InsideFolder;
  /** Whether the folder was made for this run, with nothing in it. */
  readonly isFresh: boolean;
  readonly language: Language;
  /** Those are its inputs already. */
  readonly given: readonly InputFileRecord[];
}

export interface RunWatch {
  /** Takes the reports of the run one after the other, those of other kinds too. */
  take(report: Report): void;
  /** To be called once, when the run is over. */
  end(): Promise<WatchedRun>;
}

export interface WatchedRun extends EndedComparison {
  readonly knowledge: InputKnowledge;
}

/** Of one look, at the start or at the end. */
const maxHashedBytes = 1024 ** 3;
const maxHashingMs = 1000;
const maxKnownInputs = 100;
const maxKnownBytes = 32 * 1024;

const startBudget = (): HashBudget => ({ bytes: maxHashedBytes, until: performance.now() + maxHashingMs });

export async function startWatch(options: WatchOptions): Promise<RunWatch> {
  const { changes, place, folder, isFresh } = options;
  const comparison = await startComparison(changes, place, folder, isFresh);
  const chosen = chooseFound(comparison, options.folder, options.given, maxKnownInputs);
  const found = await identify(options, chosen.files, 'found');
  const reads = createReportedReads();
  const hasOthers = hasOtherFiles(options, comparison);
  return {
    take: reads.take,
    async end() {
      const compared = await comparison.end();
      const opened = resolveOpened(comparison, options, reads.paths);
      const known = await nameAll(options, found, opened.files);
      const kept = keepWithinBounds(known);
      const notes = [
        ...describeUnseen(options.language, reads, hasOthers),
        ...describeLeftOut(chosen.total, kept.length < known.length),
        ...describeUnknown(kept, chosen.sawAll && !opened.isPartial),
      ];
      const knowledge = {
        knownInputs: kept,
        inputsMayBeIncomplete: notes.length > 0,
        inputNotes: notes,
        libraries: reads.libraries,
      };
      return { ...compared, knowledge };
    },
  };
}

const notWatched: WatchedRun = {
  difference: noDifference,
  made: [],
  moreMade: 0,
  knowledge: unknownInputs,
};

/** What cannot be compared any more must not cost the result. */
export async function endWatch(log: Log, id: string, watch: RunWatch | null): Promise<WatchedRun> {
  try {
    return (await watch?.end()) ?? notWatched;
  } catch (error) {
    log.error('execution.not_compared', { id, error });
    return { ...notWatched, difference: unseenDifference };
  }
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
