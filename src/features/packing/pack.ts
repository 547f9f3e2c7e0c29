/**
 * Packs runs, stored files or both as an RO-Crate archive, and writes it to the source of packed crates, whole or not at
 * all. It reserves quota until the index knows the crate. It neither indexes nor links it: `crates.ts` has that done.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Execution, Executions } from '../../core/runs/executions.ts';
import type { KeptReader } from '../provenance/provenance.ts';
import type { Files } from '../../core/files/files.ts';
import type { Caller } from '../../core/identity.ts';
import type { Source, SourceObject } from '../../ports/storage/source.ts';
import type { RunCallRecord } from '../code-mode/store.ts';
import { packageVersion } from '../../platform/version.ts';
import type { Workspaces } from '../../core/workspaces/workspaces.ts';
import { createArchive, type CrateArchive } from '../crates/contents/archive.ts';
import { createPackedObjectName } from '../crates/sources/sources.ts';
import { createChain, maxPackedRuns, type SessionToPack } from './chain.ts';
import { createKeptBytes } from './recorded-bytes.ts';
import { noteIncompleteInputs } from './gather-inputs.ts';
import { collectNotebook } from './gather-notebook.ts';
import { collectRun } from './gather-run.ts';
import {
  addStoredFile,
  createPackCollector,
  createTextMember,
  listMissingNotes,
  type PackCollector,
} from './gather.ts';
import {
  metadataName,
  createMetadataDocument,
  previewName,
  type AboutCrate,
  type CrateAuthor,
  type PackedCrate,
  type FileOfRun,
  type PackedFile,
  type PackedRun,
} from './packed.ts';
import { renderCratePreview } from './preview.ts';
import type { ReservePackQuota } from './quota.ts';
import { languageEntities } from './run-entities.ts';
import { getCrateSpecification, type CrateSpecificationVersion } from './specification.ts';

export type { CrateAuthor } from './packed.ts';
export { crateSpecificationVersions } from './specification.ts';

export interface CratePackerOptions {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly places: Pick<Workspaces, 'find'>;
  readonly executions: Pick<Executions, 'get'>;
  /** The bytes that are kept of what runs made. */
  readonly keptResults: KeptReader;
  /** The tools that the code of a run called. */
  readonly readCalls: (executionId: string) => Promise<RunCallRecord>;
  /** The cells that the state of a caller's session comes from; without it, no session can be packed. */
  readonly findSession?: FindSessionToPack | undefined;
  /** Where packed crates go. */
  readonly target: Source;
  /** The most bytes that one crate may take. */
  readonly maxBytes: number;
  /** Rejects with `quota_exceeded` if a crate of this size is too much for its owner (null: everybody) or for the server. */
  readonly reserveRoom: ReservePackQuota;
  readonly clock: Clock;
}

/** A session by its id or name, and its cells in order; `not_found` if the caller has none. */
export type FindSessionToPack = (caller: Caller, idOrName: string) => Promise<SessionToPack>;

/** Runs, files of the store, or both. */
export interface PackRequest {
  /** One run, or several that belong together, in any order. */
  readonly executionIds?: readonly string[] | undefined;
  /** A session, by its id or name: all cells that its state comes from. */
  readonly sessionId?: string | undefined;
  readonly fileIds?: readonly string[] | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** A URL, an SPDX identifier or a text. */
  readonly license?: string | undefined;
  readonly keywords?: readonly string[] | undefined;
  readonly authors?: readonly CrateAuthor[] | undefined;
  /** Whether everybody on this server may see it, and not only the user who packed it. */
  readonly shared?: boolean | undefined;
  /** Whether files that a run changed in its working folder are packed too; default: yes. */
  readonly includeWorkspace?: boolean | undefined;
  /** The version of RO-Crate to write; default: 1.1. */
  readonly specification?: CrateSpecificationVersion | undefined;
}

export interface PackProgress {
  readonly signal: AbortSignal;
  progress(done: number, total: number | null, message?: string): void;
}

/** A crate that is in its source. Dispose of it once the index knows it: until then its quota is reserved. */
export interface WrittenCrate extends AsyncDisposable {
  readonly object: SourceObject;
  /** The only user who may see it; null for everybody. */
  readonly owner: string | null;
  readonly sha256: string;
  readonly title: string;
  /** How many files it has, including metadata and preview. */
  readonly fileCount: number;
  /** Sentences about what is left out or unusual. */
  readonly notes: readonly string[];
  /** The runs all of whose results it has, as far as there are any bytes. */
  readonly packedRuns: readonly string[];
}

/** Makes crates of runs and stored files. */
export function createCratePacker(options: CratePackerOptions) {
  return {
    target: options.target,

    /**
     * Writes the crate to the source, whole or not at all. `not_found` if the run or a file does not belong to the
     * caller, `crate_changed` if a file changes meanwhile.
     */
    async pack(caller: Caller, request: PackRequest, watching: PackProgress): Promise<WrittenCrate> {
      const { crate, collector } = await collectCrate(options, caller, request, watching.signal);
      const archive = createArchive(await addMetadataAndPreview(crate, collector));
      checkPackedSize(archive.size, options.maxBytes);
      const owner = request.shared === true ? null : caller.user;
      await using reserved = new AsyncDisposableStack();
      reserved.use(await options.reserveRoom(owner, archive.size));
      const name = await findFreeObjectName(options.target, owner, crate, watching.signal);
      const object = await writeCrateArchive(options.target, name, archive, watching);
      const room = reserved.move();
      return {
        object,
        [Symbol.asyncDispose]: () => room.disposeAsync(),
        owner,
        sha256: archive.sha256(),
        title: crate.about.title,
        fileCount: collector.members.length + 2,
        notes: boundPackNotes([...listMissingNotes(collector), ...collector.notes]),
        // Of what is left out as asked, the kept bytes are still the only ones.
        packedRuns: request.includeWorkspace === false ? [] : crate.runs.map(({ id }) => id),
      };
    },

    /** The crate is indexed: what was kept of its runs may go before all else. */
    notePacked: (caller: Caller, { packedRuns }: WrittenCrate): Promise<void> =>
      options.keptResults.notePacked(caller, packedRuns),
  };
}

export type CratePacker = ReturnType<typeof createCratePacker>;

const noCalls: RunCallRecord = { calls: [], tools: [] };

const findCalls = async (
  { readCalls }: CratePackerOptions,
  { id, toolCalls }: Execution,
): Promise<RunCallRecord> => (toolCalls === null ? noCalls : readCalls(id));

async function collectCrate(
  options: CratePackerOptions,
  caller: Caller,
  request: PackRequest,
  signal: AbortSignal,
): Promise<{ crate: PackedCrate; collector: PackCollector }> {
  const { fileIds = [], includeWorkspace = true } = request;
  const session = await findPackedSession(options, caller, request);
  const executionIds = session?.executionIds ?? request.executionIds ?? [];
  if (executionIds.length + fileIds.length === 0)
    throw new WorkcrateError('invalid_input', 'Say what to pack: an execution_id, file_ids, or both.');
  const found = await findPackedRuns(options, caller, executionIds);
  // A cell that never started has no part in the state of its session.
  const executions = session === null ? found : found.filter(({ reason }) => reason !== 'refused');
  checkFileCount(executions);
  const chain = createChain(executions, session?.record.id ?? null);
  const workspace = await options.places.find(caller.user);
  const now = options.clock();
  const kept = createKeptBytes(options, caller);
  for (const execution of executions) kept.add(execution);
  const collector = createPackCollector({ files: options.files, kept, caller, workspace, signal, now });
  const runs: PackedRun[] = [];
  for (const step of chain) {
    const calls = await findCalls(options, step.execution);
    runs.push(await collectRun(collector, step, { includeWorkspace, calls }));
  }
  noteIncompleteInputs(collector, chain);
  const files = [
    ...(session === null ? [] : await collectNotebook(collector, session, executions)),
    ...(await collectStoredFiles(collector, fileIds)),
  ];
  const about = toAboutCrate(caller, request, runs, files, now);
  const specification = getCrateSpecification(request.specification);
  return { crate: { about, specification, runs, files }, collector };
}

async function findPackedSession(
  { findSession: find }: CratePackerOptions,
  caller: Caller,
  { sessionId, executionIds = [] }: PackRequest,
): Promise<SessionToPack | null> {
  if (sessionId === undefined) return null;
  if (executionIds.length > 0)
    throw new WorkcrateError('invalid_input', 'Name a session_id or executions, not both.');
  if (find === undefined)
    throw new WorkcrateError('unsupported', 'There are no sessions here. Name the executions of its cells.');
  const session = await find(caller, sessionId);
  if (session.executionIds.length > 0) return session;
  throw new WorkcrateError('not_found', `The session ${session.record.id} has no recorded cells to pack.`);
}

/** All of them are the caller's: `not_found` otherwise. */
async function findPackedRuns(
  { executions }: CratePackerOptions,
  caller: Caller,
  ids: readonly string[],
): Promise<Execution[]> {
  if (ids.length > maxPackedRuns)
    throw new WorkcrateError(
      'invalid_input',
      `A crate holds at most ${maxPackedRuns} runs, and these are ${ids.length}. Pack them in parts.`,
    );
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined)
    throw new WorkcrateError('invalid_input', `${twice} is named twice. Name each run once.`);
  const found: Execution[] = [];
  for (const id of ids) found.push(await executions.get(caller, id));
  return found;
}

/** Each is an entity of the metadata, which has to fit into memory, here and where the crate is read. */
const maxPackedFiles = 100_000;

function checkFileCount(executions: readonly Execution[]): void {
  const count = executions.reduce((sum, { resultFiles }) => sum + (resultFiles?.files.length ?? 0), 0);
  if (count > maxPackedFiles)
    throw new WorkcrateError(
      'too_large',
      `These runs made ${count} files, and a crate describes at most ${maxPackedFiles} of them. Pack the runs in parts.`,
    );
}

async function collectStoredFiles(collector: PackCollector, ids: readonly string[]): Promise<PackedFile[]> {
  const files: PackedFile[] = [];
  for (const id of new Set(ids)) {
    const stored = await collector.files.find(collector.caller, id);
    if (stored === null)
      throw new WorkcrateError(
        'not_found',
        `You have no file with the id ${id}. list_files shows your files.`,
      );
    const labels = { folder: 'files', name: stored.name, knownAs: [], description: `A file of the user's` };
    const file = await addStoredFile(collector, stored, labels);
    if (file === null)
      throw new WorkcrateError('bytes_gone', `The bytes of ${stored.name} are gone. Pack without it.`);
    files.push(file);
  }
  return files;
}

/** The metadata comes first, so that it can be read from the start of a stream. */
async function addMetadataAndPreview(crate: PackedCrate, { members, now }: PackCollector) {
  const metadata = `${JSON.stringify(createMetadataDocument(crate), makeStringsWellFormed, 2)}\n`;
  return [
    await createTextMember(metadataName, metadata, now),
    await createTextMember(previewName, renderCratePreview(crate), now),
    ...members,
  ];
}

/** A lone surrogate is not valid Unicode, and JSON would keep it. */
function makeStringsWellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function checkPackedSize(size: number, most: number): void {
  if (size <= most) return;
  throw new WorkcrateError(
    'too_large',
    `The crate would have ${size} bytes, and the limit is ${most}. Pack less.`,
  );
}

/** A run may be packed again, for instance with another title. */
const maxObjectNameAttempts = 100;

async function findFreeObjectName(
  target: Source,
  owner: string | null,
  { about, runs }: PackedCrate,
  signal: AbortSignal,
): Promise<string> {
  const id = runs[0]?.id ?? `files_${randomBytes(6).toString('hex')}`;
  for (let attempt = 1; attempt <= maxObjectNameAttempts; attempt++) {
    const name = createPackedObjectName(owner, about.title.replace(id, ''), id, attempt);
    if ((await target.stat(name, signal)) === null) return name;
  }
  throw new WorkcrateError(
    'already_exists',
    `${id} has been packed ${maxObjectNameAttempts} times, which is the limit. Use one of those crates.`,
  );
}

function writeCrateArchive(
  target: Source,
  name: string,
  archive: CrateArchive,
  { signal, progress }: PackProgress,
): Promise<SourceObject> {
  const bytes = archive.bytes(signal, (done) => progress(done, archive.size, 'packing'));
  return target.put(name, archive.size, bytes, signal);
}

const maxPackNotes = 50;

function boundPackNotes(notes: readonly string[]): string[] {
  if (notes.length <= maxPackNotes) return [...notes];
  return [...notes.slice(0, maxPackNotes), `There are ${notes.length - maxPackNotes} more notes like these.`];
}

/** The description of a crate: what the caller says, and defaults for the rest. */
function toAboutCrate(
  { user }: Caller,
  request: PackRequest,
  runs: readonly PackedRun[],
  files: readonly PackedFile[],
  published: number,
): AboutCrate {
  const { title, description, license, keywords = [], authors = [] } = request;
  return {
    title: title?.trim() || createDefaultTitle(runs, files),
    description: description?.trim() || createDefaultDescription(runs, files),
    license: license ?? null,
    keywords,
    authors,
    user,
    published,
    version: packageVersion,
  };
}

function createDefaultTitle([run, ...more]: readonly PackedRun[], files: readonly PackedFile[]): string {
  if (run === undefined) return `${countItems(files.length, 'file')} from Workcrate`;
  const title = `${languageEntities[run.language].name} run ${run.id}`;
  return more.length === 0 ? title : `${title} and ${countItems(more.length, 'run')} after it`;
}

function createDefaultDescription(runs: readonly PackedRun[], files: readonly PackedFile[]): string {
  const [run] = runs;
  if (run === undefined) return `${summarizeNames(files, 'file')}, packed as kept.`;
  const day = new Date(run.startedAt).toISOString().slice(0, 10);
  const made = new Set(runs.flatMap(({ results }) => results));
  const given = runs.flatMap(({ inputs }) => inputs).filter((file) => !made.has(file));
  // Where nobody looked, none that is known is not none.
  const what = runs.some(({ resultsMayBeIncomplete }) => resultsMayBeIncomplete) ? 'known result' : 'result';
  const outcome = `${summarizeNames([...made], what)} from ${summarizeNames([...new Set(given)], 'input')}`;
  if (runs.length === 1)
    return `A run of ${languageEntities[run.language].name} code on ${day}: ${outcome}; ${run.outcome}.`;
  const failed = runs.filter(({ succeeded }) => !succeeded).length;
  const ends = failed === 0 ? 'all succeeded' : `${failed} failed`;
  return `${runs.length} runs of code, one after the other, from ${day}: ${outcome}; ${ends}.`;
}

const maxNamesInDescription = 3;
const maxNameLengthInDescription = 60;

const getPackedFileName = ({ path }: FileOfRun): string => path.slice(path.lastIndexOf('/') + 1);

/** The first names, and how many more there are, so that users can tell crates apart. */
function summarizeNames(files: readonly FileOfRun[], what: string): string {
  if (files.length === 0) return `no ${what}s`;
  const few = files.slice(0, maxNamesInDescription).map(getPackedFileName).map(shortenFileName);
  const more = files.length - few.length;
  if (more > 0) return `${few.join(', ')} and ${countItems(more, `more ${what}`)}`;
  return few.length === 1 ? few[0]! : `${few.slice(0, -1).join(', ')} and ${few.at(-1)}`;
}

const shortenFileName = (name: string): string =>
  name.length > maxNameLengthInDescription
    ? `${name.slice(0, maxNameLengthInDescription).toWellFormed()}…`
    : name;

const countItems = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
