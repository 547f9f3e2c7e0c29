import { Readable } from 'node:stream';
import { WorkcrateError } from '../../errors.ts';
import type { Execution, InputFileRecord } from '../../executions/executions.ts';
import {
  computeDigest,
  fileDamagedError,
  guessMediaType,
  type Files,
  type StoredFile,
} from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Language, Workspace } from '../../sandbox/sandbox.ts';
import type { ArchiveMember } from './archive.ts';
import {
  createMemberNaming,
  stdinFileName,
  type MissingFile,
  type MemberNaming,
  type FileOrigin,
  type PackedFile,
  type PackedRun,
} from './packed.ts';
import {
  measureWorkspaceFile,
  locateWorkspaceFile,
  rereadWorkspaceFile,
  type MeasuredFile,
  type WorkspaceFile,
} from './replay-plan.ts';
import { describeRunError, listRunLimits, describeRunOutcome, parseRunRuntime } from './run-facts.ts';

/** What was collected for a crate so far. */
export interface PackCollector {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  readonly place: Workspace | null;
  readonly signal: AbortSignal;
  /** The time of packing, for files that are made for the crate. */
  readonly now: number;
  readonly naming: MemberNaming;
  /** What the archive will hold, in this order. */
  readonly members: ArchiveMember[];
  /** Notes for the caller: what is left out, and why. */
  readonly notes: string[];
}

export type PackCollectorOptions = Pick<PackCollector, 'files' | 'caller' | 'place' | 'signal' | 'now'>;

export function createPackCollector(options: PackCollectorOptions): PackCollector {
  return { ...options, naming: createMemberNaming(), members: [], notes: [] };
}

/** Executions store NUL as this, since PostgreSQL cannot store NUL. */
const nulReplacement = '\u2400';

/** How a file is named and described in the crate. */
export interface PackedFileLabels {
  readonly folder: string;
  readonly name: string;
  readonly knownAs: string | null;
  readonly description: string;
  readonly origin?: FileOrigin | null;
}

/** Adds a stored file, whose digest is known. Null if its bytes are gone. */
export async function addStoredFile(
  gathering: PackCollector,
  stored: StoredFile,
  labels: PackedFileLabels,
): Promise<PackedFile | null> {
  const { files } = gathering;
  await using object = await files.open(stored);
  if (object === null) return null;
  const { size, sha256, crc32, createdAt: modified, mediaType } = stored;
  return addMember(gathering, labels, mediaType, {
    size,
    sha256,
    crc32,
    modified,
    read: (signal) => readStoredFileToPack(files, stored, signal),
    // Stored files are never changed, so another digest means damage.
    mismatch: () => fileDamagedError(stored),
  });
}

async function* readStoredFileToPack(
  files: Pick<Files, 'open'>,
  stored: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using object = await files.open(stored);
  if (object === null)
    throw new WorkcrateError('bytes_gone', `The bytes of ${stored.name} are gone. Pack without it.`);
  yield* object.read(0, object.size, signal);
}

/** Adds a file of the user's workspace that has been measured. */
function addWorkspaceFile(
  gathering: PackCollector,
  file: WorkspaceFile,
  measured: MeasuredFile,
  labels: PackedFileLabels,
): PackedFile {
  const read = (signal: AbortSignal) => rereadWorkspaceFile(file, signal);
  return addMember(gathering, labels, guessMediaType(labels.name), { ...measured, read });
}

/** Adds a text file that is made for the crate. */
async function addTextFile(
  gathering: PackCollector,
  text: string,
  mediaType: string,
  labels: PackedFileLabels,
): Promise<PackedFile> {
  const member = await createTextMember('', text, gathering.now);
  return { ...addMember(gathering, labels, mediaType, member), modified: null };
}

export async function createTextMember(path: string, text: string, modified: number): Promise<ArchiveMember> {
  const bytes = Buffer.from(text);
  const read = () => Readable.from(bytes.length === 0 ? [] : [bytes]);
  return { path, modified, read, ...(await computeDigest(read())) };
}

function addMember(
  { naming, members }: PackCollector,
  labels: PackedFileLabels,
  mediaType: string,
  member: Omit<ArchiveMember, 'path'>,
): PackedFile {
  const path = naming(labels.folder, labels.name);
  members.push({ ...member, path });
  const { size, sha256, modified } = member;
  const { knownAs, description, origin = null } = labels;
  return { path, knownAs, description, size, sha256, mediaType, modified, origin };
}

const codeFileNames: Readonly<Record<Language, { name: string; mediaType: string }>> = {
  python: { name: 'main.py', mediaType: 'text/x-python' },
  node: { name: 'main.js', mediaType: 'text/javascript' },
  bash: { name: 'main.sh', mediaType: 'application/x-sh' },
};

/** How much of the code the preview shows. The whole code is in its file. */
const maxPreviewCodeLength = 64 * 1024;

export interface PackRunOptions {
  /** Whether files that it changed in its working folder are packed, and not only those in /artifacts. */
  readonly includeWorkspace: boolean;
}

/** Collects what is left of a run: code, inputs, results and output. */
export async function collectRun(
  gathering: PackCollector,
  execution: Execution,
  options: PackRunOptions,
): Promise<PackedRun> {
  checkRunEnded(execution);
  const code = await collectRunCode(gathering, execution);
  const { inputs, missing } = await collectRunInputs(gathering, execution);
  const results = await collectRunResults(gathering, execution, options);
  const logs = [
    ...(await collectRunLog(gathering, execution, 'stdout')),
    ...(await collectRunLog(gathering, execution, 'stderr')),
  ];
  const { id, language, workingDir, startedAt, succeeded, limits } = execution;
  return {
    id,
    language,
    runtime: parseRunRuntime(execution),
    workingDir,
    startedAt,
    endedAt: getRunEndTime(execution),
    succeeded,
    outcome: describeRunOutcome(execution),
    error: describeRunError(execution),
    sandbox: limits.sandbox,
    limits: listRunLimits(execution),
    code,
    codeText: execution.code.slice(0, maxPreviewCodeLength),
    inputs,
    missing,
    results,
    logs,
  };
}

function checkRunEnded({ id, reason }: Execution): void {
  if (reason === 'running')
    throw new WorkcrateError('invalid_input', `${id} is still running. Pack it when it has ended.`);
  if (reason === 'refused')
    throw new WorkcrateError('invalid_input', `${id} was never started, so there is nothing to pack.`);
}

const getRunEndTime = ({ startedAt, durationMs }: Execution): number => startedAt + (durationMs ?? 0);

function collectRunCode(gathering: PackCollector, { language, code }: Execution): Promise<PackedFile> {
  const { name, mediaType } = codeFileNames[language];
  const description = 'The code that was run, as it was given';
  if (code.includes(nulReplacement))
    gathering.notes.push(
      `The code contains ${nulReplacement}, which also stands for NUL: if it was NUL, the code is not packed byte for byte.`,
    );
  return addTextFile(gathering, code, mediaType, { folder: 'code', name, knownAs: null, description });
}

async function collectRunResults(
  gathering: PackCollector,
  execution: Execution,
  { includeWorkspace }: PackRunOptions,
): Promise<PackedFile[]> {
  const { created, modified, complete } = execution.artifacts;
  const names = [...created, ...modified].filter(
    (name) => includeWorkspace || name.startsWith('/artifacts/'),
  );
  const results: PackedFile[] = [];
  for (const name of names) {
    const result = await collectRunResult(gathering, execution, name, created.includes(name));
    if (result !== null) results.push(result);
  }
  if (!complete)
    gathering.notes.push('The run may have changed more files: not all could be compared when it ended.');
  return results;
}

/** The clocks of the server and of the filesystem may differ. */
const resultClockSkewMs = 5000;

async function collectRunResult(
  gathering: PackCollector,
  execution: Execution,
  name: string,
  isNew: boolean,
): Promise<PackedFile | null> {
  const { place, signal, notes } = gathering;
  const file = place && locateWorkspaceFile(place, execution.workingDir, name);
  const measured = file === null ? 'is gone' : await measureWorkspaceFile(file, signal);
  if (typeof measured === 'string') {
    notes.push(`${quoteResultName(name)} ${measured}, so it is left out.`);
    return null;
  }
  if (measured.modified > getRunEndTime(execution) + resultClockSkewMs)
    notes.push(`${quoteResultName(name)} was changed after the run: it is packed as it is now.`);
  const inArtifacts = name.startsWith('/artifacts/');
  return addWorkspaceFile(gathering, file!, measured, {
    folder: inArtifacts ? 'results' : 'results/working',
    name: inArtifacts ? name.slice(1) : name,
    knownAs: name,
    description: isNew ? 'A file that the run made' : 'A file that the run changed, as it was after it',
  });
}

/** The output of the run; all of it if that was stored. Without output there is no file. */
async function collectRunLog(
  gathering: PackCollector,
  execution: Execution,
  stream: 'stdout' | 'stderr',
): Promise<PackedFile[]> {
  const { files, caller, notes } = gathering;
  const text = execution[stream];
  const bytes = execution[`${stream}Bytes`];
  const labels = {
    folder: 'logs',
    name: `${stream}.txt`,
    knownAs: null,
    description: `What the run wrote to ${stream}`,
  };
  const id = execution[`${stream}File`];
  const stored = id === null ? null : await files.find(caller, id);
  if (stored !== null && stored.size < bytes) notes.push(`Only the start of ${stream} was kept.`);
  const whole = stored && (await addStoredFile(gathering, stored, labels));
  if (whole !== null) return [whole];
  if (text === '') return [];
  if (bytes > Buffer.byteLength(text))
    notes.push(`${stream} is packed as it was shown, with a part in the middle left out.`);
  if (bytes < Buffer.byteLength(text))
    notes.push(`${stream} contained bytes that are not text: it is packed as it was shown.`);
  return [await addTextFile(gathering, text, 'text/plain', labels)];
}

const maxQuotedResultName = 200;

/** Quoted, so that a file name cannot imitate a note. */
function quoteResultName(name: string): string {
  return JSON.stringify(name.length > maxQuotedResultName ? `${name.slice(0, maxQuotedResultName)}…` : name);
}

/** The inputs of a run: stored files, or copies in the workspace if they are unchanged; and its stdin. */
async function collectRunInputs(
  gathering: PackCollector,
  execution: Execution,
): Promise<{ inputs: PackedFile[]; missing: MissingFile[] }> {
  const inputs: PackedFile[] = [];
  const missing: MissingFile[] = [];
  for (const given of execution.inputs) {
    const found =
      (await collectInputFromStore(gathering, given)) ??
      (await collectInputFromWorkspace(gathering, execution, given));
    if (found !== null) inputs.push(found);
    else missing.push(noteMissingInput(gathering, given));
  }
  if (execution.stdin !== '') inputs.push(await collectRunStdin(gathering, execution));
  return { inputs, missing };
}

/** Collected last, so that no input file has to be renamed. */
function collectRunStdin(gathering: PackCollector, { stdin, stdinBytes }: Execution): Promise<PackedFile> {
  if (Buffer.byteLength(stdin) !== stdinBytes)
    gathering.notes.push(
      `stdin contained NUL, which is stored as ${nulReplacement}: it is not packed byte for byte.`,
    );
  const description = 'What the run could read from its standard input';
  const labels = { folder: 'inputs', name: 'stdin.txt', knownAs: stdinFileName, description };
  return addTextFile(gathering, stdin, 'text/plain', labels);
}

/** The origin as recorded with the input. Only files of other crates have one here. */
function toInputOrigin({ origin }: InputFileRecord): FileOrigin | null {
  const { crate_id: crateId, path } = origin ?? {};
  return crateId === undefined || path === undefined ? null : { crateId, path };
}

const toInputLabels = (given: InputFileRecord) => ({
  folder: 'inputs',
  name: given.name,
  knownAs: given.name,
  description: 'A file that the run was given',
  origin: toInputOrigin(given),
});

async function collectInputFromStore(
  gathering: PackCollector,
  given: InputFileRecord,
): Promise<PackedFile | null> {
  if (given.fileId === null) return null;
  const stored = await gathering.files.find(gathering.caller, given.fileId);
  return stored && (await addStoredFile(gathering, stored, toInputLabels(given)));
}

/** A run gets copies in its working folder. A copy with the same hash is as good as the original. */
async function collectInputFromWorkspace(
  gathering: PackCollector,
  { workingDir }: Execution,
  given: InputFileRecord,
): Promise<PackedFile | null> {
  const { place, signal } = gathering;
  const file = place && locateWorkspaceFile(place, workingDir, given.name);
  if (file === null) return null;
  const measured = await measureWorkspaceFile(file, signal);
  if (typeof measured === 'string' || measured.sha256 !== given.sha256) return null;
  return addWorkspaceFile(gathering, file, measured, toInputLabels(given));
}

function noteMissingInput({ naming, notes }: PackCollector, given: InputFileRecord): MissingFile {
  // Reserves the path that it would have.
  naming('inputs', given.name);
  notes.push(
    `The input ${JSON.stringify(given.name)} is gone: the crate describes it, but does not contain it.`,
  );
  const { name, size, sha256 } = given;
  return { name, size, sha256, origin: toInputOrigin(given) };
}
