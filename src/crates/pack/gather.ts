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
  readonly workspace: Workspace | null;
  readonly signal: AbortSignal;
  /** The time of packing, for files that are made for the crate. */
  readonly now: number;
  readonly naming: MemberNaming;
  /** What the archive will hold, in this order. */
  readonly members: ArchiveMember[];
  /** Notes for the caller: what is left out, and why. */
  readonly notes: string[];
}

export type PackCollectorOptions = Pick<PackCollector, 'files' | 'caller' | 'workspace' | 'signal' | 'now'>;

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
  collector: PackCollector,
  stored: StoredFile,
  labels: PackedFileLabels,
): Promise<PackedFile | null> {
  const { files } = collector;
  await using object = await files.open(stored);
  if (object === null) return null;
  const { size, sha256, crc32, createdAt: modified, mediaType } = stored;
  return addMember(collector, labels, mediaType, {
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
  collector: PackCollector,
  file: WorkspaceFile,
  measured: MeasuredFile,
  labels: PackedFileLabels,
): PackedFile {
  const read = (signal: AbortSignal) => rereadWorkspaceFile(file, signal);
  return addMember(collector, labels, guessMediaType(labels.name), { ...measured, read });
}

/** Adds a text file that is made for the crate. */
async function addTextFile(
  collector: PackCollector,
  text: string,
  mediaType: string,
  labels: PackedFileLabels,
): Promise<PackedFile> {
  const member = await createTextMember('', text, collector.now);
  return { ...addMember(collector, labels, mediaType, member), modified: null };
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
  collector: PackCollector,
  execution: Execution,
  options: PackRunOptions,
): Promise<PackedRun> {
  checkRunEnded(execution);
  const code = await collectRunCode(collector, execution);
  const { inputs, missing } = await collectRunInputs(collector, execution);
  const results = await collectRunResults(collector, execution, options);
  const logs = [
    ...(await collectRunLog(collector, execution, 'stdout')),
    ...(await collectRunLog(collector, execution, 'stderr')),
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

function collectRunCode(collector: PackCollector, { language, code }: Execution): Promise<PackedFile> {
  const { name, mediaType } = codeFileNames[language];
  const description = 'The code that was run, as it was given';
  if (code.includes(nulReplacement))
    collector.notes.push(
      `The code contains ${nulReplacement}, which also stands for NUL: if it was NUL, the code is not packed byte for byte.`,
    );
  return addTextFile(collector, code, mediaType, { folder: 'code', name, knownAs: null, description });
}

async function collectRunResults(
  collector: PackCollector,
  execution: Execution,
  { includeWorkspace }: PackRunOptions,
): Promise<PackedFile[]> {
  const { created, modified, complete } = execution.artifacts;
  const names = [...created, ...modified].filter(
    (name) => includeWorkspace || name.startsWith('/artifacts/'),
  );
  const results: PackedFile[] = [];
  for (const name of names) {
    const result = await collectRunResult(collector, execution, name, created.includes(name));
    if (result !== null) results.push(result);
  }
  if (!complete)
    collector.notes.push('The run may have changed more files: not all could be compared when it ended.');
  return results;
}

/** The clocks of the server and of the filesystem may differ. */
const resultClockSkewMs = 5000;

async function collectRunResult(
  collector: PackCollector,
  execution: Execution,
  name: string,
  isNew: boolean,
): Promise<PackedFile | null> {
  const { workspace, signal, notes } = collector;
  const file = workspace && locateWorkspaceFile(workspace, execution.workingDir, name);
  const measured = file === null ? 'is gone' : await measureWorkspaceFile(file, signal);
  if (typeof measured === 'string') {
    notes.push(`${quoteResultName(name)} ${measured}, so it is left out.`);
    return null;
  }
  if (measured.modified > getRunEndTime(execution) + resultClockSkewMs)
    notes.push(`${quoteResultName(name)} was changed after the run: it is packed as it is now.`);
  const inArtifacts = name.startsWith('/artifacts/');
  return addWorkspaceFile(collector, file!, measured, {
    folder: inArtifacts ? 'results' : 'results/working',
    name: inArtifacts ? name.slice(1) : name,
    knownAs: name,
    description: isNew ? 'A file that the run made' : 'A file that the run changed, as it was after it',
  });
}

/** The output of the run; all of it if that was stored. Without output there is no file. */
async function collectRunLog(
  collector: PackCollector,
  execution: Execution,
  stream: 'stdout' | 'stderr',
): Promise<PackedFile[]> {
  const { files, caller, notes } = collector;
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
  const whole = stored && (await addStoredFile(collector, stored, labels));
  if (whole !== null) return [whole];
  if (text === '') return [];
  if (bytes > Buffer.byteLength(text))
    notes.push(`${stream} is packed as it was shown, with a part in the middle left out.`);
  if (bytes < Buffer.byteLength(text))
    notes.push(`${stream} contained bytes that are not text: it is packed as it was shown.`);
  return [await addTextFile(collector, text, 'text/plain', labels)];
}

const maxQuotedResultName = 200;

/** Quoted, so that a file name cannot imitate a note. */
function quoteResultName(name: string): string {
  return JSON.stringify(name.length > maxQuotedResultName ? `${name.slice(0, maxQuotedResultName)}…` : name);
}

/** The inputs of a run: stored files, or copies in the workspace if they are unchanged; and its stdin. */
async function collectRunInputs(
  collector: PackCollector,
  execution: Execution,
): Promise<{ inputs: PackedFile[]; missing: MissingFile[] }> {
  const inputs: PackedFile[] = [];
  const missing: MissingFile[] = [];
  for (const input of execution.inputs) {
    const found =
      (await collectInputFromStore(collector, input)) ??
      (await collectInputFromWorkspace(collector, execution, input));
    if (found !== null) inputs.push(found);
    else missing.push(noteMissingInput(collector, input));
  }
  if (execution.stdin !== '') inputs.push(await collectRunStdin(collector, execution));
  return { inputs, missing };
}

/** Collected last, so that no input file has to be renamed. */
function collectRunStdin(collector: PackCollector, { stdin, stdinBytes }: Execution): Promise<PackedFile> {
  if (Buffer.byteLength(stdin) !== stdinBytes)
    collector.notes.push(
      `stdin contained NUL, which is stored as ${nulReplacement}: it is not packed byte for byte.`,
    );
  const description = 'What the run could read from its standard input';
  const labels = { folder: 'inputs', name: 'stdin.txt', knownAs: stdinFileName, description };
  return addTextFile(collector, stdin, 'text/plain', labels);
}

/** The origin as recorded with the input. Only files of other crates have one here. */
function toInputOrigin({ origin }: InputFileRecord): FileOrigin | null {
  const { crate_id: crateId, path } = origin ?? {};
  return crateId === undefined || path === undefined ? null : { crateId, path };
}

const toInputLabels = (input: InputFileRecord) => ({
  folder: 'inputs',
  name: input.name,
  knownAs: input.name,
  description: 'A file that the run was given',
  origin: toInputOrigin(input),
});

async function collectInputFromStore(
  collector: PackCollector,
  input: InputFileRecord,
): Promise<PackedFile | null> {
  if (input.fileId === null) return null;
  const stored = await collector.files.find(collector.caller, input.fileId);
  return stored && (await addStoredFile(collector, stored, toInputLabels(input)));
}

/** A run gets copies in its working folder. A copy with the same hash is as good as the original. */
async function collectInputFromWorkspace(
  collector: PackCollector,
  { workingDir }: Execution,
  input: InputFileRecord,
): Promise<PackedFile | null> {
  const { workspace, signal } = collector;
  const file = workspace && locateWorkspaceFile(workspace, workingDir, input.name);
  if (file === null) return null;
  const measured = await measureWorkspaceFile(file, signal);
  if (typeof measured === 'string' || measured.sha256 !== input.sha256) return null;
  return addWorkspaceFile(collector, file, measured, toInputLabels(input));
}

function noteMissingInput({ naming, notes }: PackCollector, input: InputFileRecord): MissingFile {
  // Reserves the path that it would have.
  naming('inputs', input.name);
  notes.push(
    `The input ${JSON.stringify(input.name)} is gone: the crate describes it, but does not contain it.`,
  );
  const { name, size, sha256 } = input;
  return { name, size, sha256, origin: toInputOrigin(input) };
}
