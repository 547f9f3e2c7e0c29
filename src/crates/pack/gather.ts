import { Readable } from 'node:stream';
import { WorkcrateError } from '../../errors.ts';
import type { Execution, InputFileRecord } from '../../executions/executions.ts';
import {
  computeDigest,
  fileDamaged,
  guessMediaType,
  type Files,
  type StoredFile,
} from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Language, Workspace } from '../../sandbox/sandbox.ts';
import type { Member } from './archive.ts';
import {
  createNaming,
  stdinName,
  type MissingFile,
  type Naming,
  type Origin,
  type PackedFile,
  type PackedRun,
} from './packed.ts';
import { measure, placeFile, readAgain, type Measured, type PlaceFile } from './replay-plan.ts';
import { errorOf, limitsOf, outcomeOf, runtimeOf } from './run-facts.ts';

/** What a crate is put together from, while that goes on. */
export interface Gathering {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  readonly place: Workspace | null;
  readonly signal: AbortSignal;
  /** When it is packed, for files that are made for the crate. */
  readonly now: number;
  readonly naming: Naming;
  /** What the archive will hold, in this order. */
  readonly members: Member[];
  /** What the caller should know: what is left out, and why. */
  readonly notes: string[];
}

export type GatheringOptions = Pick<Gathering, 'files' | 'caller' | 'place' | 'signal' | 'now'>;

export function startGathering(options: GatheringOptions): Gathering {
  return { ...options, naming: createNaming(), members: [], notes: [] };
}

/** As which executions keep NUL, since no database takes that. */
const nulSign = '\u2400';

/** How a file is to be named and described. */
export interface Labels {
  readonly folder: string;
  readonly name: string;
  readonly knownAs: string | null;
  readonly description: string;
  readonly origin?: Origin | null;
}

/** A file of the store, whose digest is known. Null where its bytes are gone. */
export async function addStored(
  gathering: Gathering,
  stored: StoredFile,
  labels: Labels,
): Promise<PackedFile | null> {
  const { files } = gathering;
  await using object = await files.open(stored);
  if (object === null) return null;
  const { size, sha256, crc32, createdAt: modified, mediaType } = stored;
  return add(gathering, labels, mediaType, {
    size,
    sha256,
    crc32,
    modified,
    read: (signal) => readStored(files, stored, signal),
    // Nothing writes to a stored file.
    mismatch: () => fileDamaged(stored),
  });
}

async function* readStored(
  files: Pick<Files, 'open'>,
  stored: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using object = await files.open(stored);
  if (object === null)
    throw new WorkcrateError('bytes_gone', `The bytes of ${stored.name} are gone. Pack without it.`);
  yield* object.read(0, object.size, signal);
}

/** A file of the user's place that has been measured. */
function addFromPlace(gathering: Gathering, file: PlaceFile, measured: Measured, labels: Labels): PackedFile {
  const read = (signal: AbortSignal) => readAgain(file, signal);
  return add(gathering, labels, guessMediaType(labels.name), { ...measured, read });
}

/** Text that is made for the crate. */
async function addText(
  gathering: Gathering,
  text: string,
  mediaType: string,
  labels: Labels,
): Promise<PackedFile> {
  const member = await textMember('', text, gathering.now);
  return { ...add(gathering, labels, mediaType, member), modified: null };
}

export async function textMember(path: string, text: string, modified: number): Promise<Member> {
  const bytes = Buffer.from(text);
  const read = () => Readable.from(bytes.length === 0 ? [] : [bytes]);
  return { path, modified, read, ...(await computeDigest(read())) };
}

function add(
  { naming, members }: Gathering,
  labels: Labels,
  mediaType: string,
  member: Omit<Member, 'path'>,
): PackedFile {
  const path = naming(labels.folder, labels.name);
  members.push({ ...member, path });
  const { size, sha256, modified } = member;
  const { knownAs, description, origin = null } = labels;
  return { path, knownAs, description, size, sha256, mediaType, modified, origin };
}

const codeFiles: Readonly<Record<Language, { name: string; mediaType: string }>> = {
  python: { name: 'main.py', mediaType: 'text/x-python' },
  node: { name: 'main.js', mediaType: 'text/javascript' },
  bash: { name: 'main.sh', mediaType: 'application/x-sh' },
};

/** As much of the code as the page shows; all of it stands in its file. */
const mostShownCode = 64 * 1024;

export interface RunOptions {
  /** Whether files that it changed in its working folder are taken along, and not only those in /artifacts. */
  readonly includeWorkspace: boolean;
}

/** Puts together what is left of a run: its code, what it was given, what it made, what it said. */
export async function gatherRun(
  gathering: Gathering,
  execution: Execution,
  options: RunOptions,
): Promise<PackedRun> {
  demandEnded(execution);
  const code = await gatherCode(gathering, execution);
  const { inputs, missing } = await gatherInputs(gathering, execution);
  const results = await gatherResults(gathering, execution, options);
  const logs = [
    ...(await gatherLog(gathering, execution, 'stdout')),
    ...(await gatherLog(gathering, execution, 'stderr')),
  ];
  const { id, language, workingDir, startedAt, succeeded, limits } = execution;
  return {
    id,
    language,
    runtime: runtimeOf(execution),
    workingDir,
    startedAt,
    endedAt: endOf(execution),
    succeeded,
    outcome: outcomeOf(execution),
    error: errorOf(execution),
    sandbox: limits.sandbox,
    limits: limitsOf(execution),
    code,
    codeText: execution.code.slice(0, mostShownCode),
    inputs,
    missing,
    results,
    logs,
  };
}

function demandEnded({ id, reason }: Execution): void {
  if (reason === 'running')
    throw new WorkcrateError('invalid_input', `${id} is still running. Pack it when it has ended.`);
  if (reason === 'refused')
    throw new WorkcrateError('invalid_input', `${id} was never started, so there is nothing to pack.`);
}

const endOf = ({ startedAt, durationMs }: Execution): number => startedAt + (durationMs ?? 0);

function gatherCode(gathering: Gathering, { language, code }: Execution): Promise<PackedFile> {
  const { name, mediaType } = codeFiles[language];
  const description = 'The code that was run, as it was given';
  if (code.includes(nulSign))
    gathering.notes.push(
      `The code holds ${nulSign}, as which NUL is kept: if it was NUL, it is not packed byte for byte.`,
    );
  return addText(gathering, code, mediaType, { folder: 'code', name, knownAs: null, description });
}

async function gatherResults(
  gathering: Gathering,
  execution: Execution,
  { includeWorkspace }: RunOptions,
): Promise<PackedFile[]> {
  const { created, modified, complete } = execution.artifacts;
  const names = [...created, ...modified].filter(
    (name) => includeWorkspace || name.startsWith('/artifacts/'),
  );
  const results: PackedFile[] = [];
  for (const name of names) {
    const result = await gatherResult(gathering, execution, name, created.includes(name));
    if (result !== null) results.push(result);
  }
  if (!complete)
    gathering.notes.push('The run may have changed more files: not all could be compared when it ended.');
  return results;
}

/** A run's clock and the disk's are not the same one. */
const slackMs = 5000;

async function gatherResult(
  gathering: Gathering,
  execution: Execution,
  name: string,
  isNew: boolean,
): Promise<PackedFile | null> {
  const { place, signal, notes } = gathering;
  const file = place && placeFile(place, execution.workingDir, name);
  const measured = file === null ? 'is gone' : await measure(file, signal);
  if (typeof measured === 'string') {
    notes.push(`${shown(name)} ${measured}, so it is left out.`);
    return null;
  }
  if (measured.modified > endOf(execution) + slackMs)
    notes.push(`${shown(name)} was changed after the run: it is packed as it is now.`);
  const inArtifacts = name.startsWith('/artifacts/');
  return addFromPlace(gathering, file!, measured, {
    folder: inArtifacts ? 'results' : 'results/working',
    name: inArtifacts ? name.slice(1) : name,
    knownAs: name,
    description: isNew ? 'A file that the run made' : 'A file that the run changed, as it was after it',
  });
}

/** What the run wrote; the whole of it where that was kept. Nothing is no file. */
async function gatherLog(
  gathering: Gathering,
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
  if (stored !== null && stored.size < bytes) notes.push(`Of ${stream} only the start was kept.`);
  const whole = stored && (await addStored(gathering, stored, labels));
  if (whole !== null) return [whole];
  if (text === '') return [];
  if (bytes > Buffer.byteLength(text)) notes.push(`${stream} is packed as it was shown, cut in the middle.`);
  if (bytes < Buffer.byteLength(text))
    notes.push(`${stream} held bytes that are no text: it is packed as it was shown.`);
  return [await addText(gathering, text, 'text/plain', labels)];
}

const mostShown = 200;

/** Quoted, so that no name can pass for a line of ours. */
function shown(name: string): string {
  return JSON.stringify(name.length > mostShown ? `${name.slice(0, mostShown)}…` : name);
}

/** The files that a run was given: from the store, or where the run left them, if they are still what they were; and its stdin. */
async function gatherInputs(
  gathering: Gathering,
  execution: Execution,
): Promise<{ inputs: PackedFile[]; missing: MissingFile[] }> {
  const inputs: PackedFile[] = [];
  const missing: MissingFile[] = [];
  for (const given of execution.inputs) {
    const found = (await fromStore(gathering, given)) ?? (await fromFolder(gathering, execution, given));
    if (found !== null) inputs.push(found);
    else missing.push(told(gathering, given));
  }
  if (execution.stdin !== '') inputs.push(await gatherStdin(gathering, execution));
  return { inputs, missing };
}

/** The last, so that no file loses its name to it. */
function gatherStdin(gathering: Gathering, { stdin, stdinBytes }: Execution): Promise<PackedFile> {
  if (Buffer.byteLength(stdin) !== stdinBytes)
    gathering.notes.push(`stdin held NUL, which is kept as ${nulSign}: it is not packed byte for byte.`);
  const description = 'What the run could read from its standard input';
  const labels = { folder: 'inputs', name: 'stdin.txt', knownAs: stdinName, description };
  return addText(gathering, stdin, 'text/plain', labels);
}

/** Whoever gave it said where from. Only a crate and a path in it are told here. */
function originOf({ origin }: InputFileRecord): Origin | null {
  const { crate_id: crateId, path } = origin ?? {};
  return crateId === undefined || path === undefined ? null : { crateId, path };
}

const labelsOf = (given: InputFileRecord) => ({
  folder: 'inputs',
  name: given.name,
  knownAs: given.name,
  description: 'A file that the run was given',
  origin: originOf(given),
});

async function fromStore(gathering: Gathering, given: InputFileRecord): Promise<PackedFile | null> {
  if (given.fileId === null) return null;
  const stored = await gathering.files.find(gathering.caller, given.fileId);
  return stored && (await addStored(gathering, stored, labelsOf(given)));
}

/** A run gets copies in its working folder. One that is still the same to the byte is as good as the original. */
async function fromFolder(
  gathering: Gathering,
  { workingDir }: Execution,
  given: InputFileRecord,
): Promise<PackedFile | null> {
  const { place, signal } = gathering;
  const file = place && placeFile(place, workingDir, given.name);
  if (file === null) return null;
  const measured = await measure(file, signal);
  if (typeof measured === 'string' || measured.sha256 !== given.sha256) return null;
  return addFromPlace(gathering, file, measured, labelsOf(given));
}

function told({ naming, notes }: Gathering, given: InputFileRecord): MissingFile {
  // Where it would stand, so nothing else may.
  naming('inputs', given.name);
  notes.push(`The input ${JSON.stringify(given.name)} is gone: the crate tells of it, and does not hold it.`);
  const { name, size, sha256 } = given;
  return { name, size, sha256, origin: originOf(given) };
}
