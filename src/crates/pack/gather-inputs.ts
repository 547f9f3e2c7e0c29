/** Collects the inputs of a run: files that it was given, that it found or opened, and its stdin. */
import type { InputFileRecord, KnownInput } from '../../executions/executions.ts';
import { toInsidePath, type ChainStep } from './chain.ts';
import { addStoredFile, addTextFile, addWorkspaceFile, type PackCollector } from './gather.ts';
import {
  stdinFileName,
  type FileOfRun,
  type FileOrigin,
  type MissingFile,
  type PackedFile,
} from './packed.ts';
import { locateWorkspaceFile, measureWorkspaceFile } from './workspace-files.ts';

/** Executions store NUL as this, since PostgreSQL cannot store NUL. */
export const nulReplacement = '\u2400';

/** The inputs of a run: stored files, or copies in the workspace if they are unchanged; and its stdin. */
export async function collectRunInputs(collector: PackCollector, step: ChainStep): Promise<FileOfRun[]> {
  const { workingDir, inputs: given, knownInputs } = step.execution;
  const inputs = new Set<FileOfRun>();
  const paths = new Set(given.map(({ name }) => toInsidePath(workingDir, name)));
  for (const input of given) inputs.add(await collectRunInput(collector, step, input));
  for (const input of knownInputs)
    if (!paths.has(input.path)) inputs.add(await collectKnownInput(collector, step, input));
  if (step.execution.stdin !== '') inputs.add(await collectRunStdin(collector, step));
  return [...inputs];
}

/** One that an earlier step left or was given is the same file. */
async function collectRunInput(
  collector: PackCollector,
  step: ChainStep,
  input: InputFileRecord,
): Promise<FileOfRun> {
  const path = toInsidePath(step.execution.workingDir, input.name);
  const earlier = collector.shared.findCopy(path, input.sha256);
  if (earlier !== null) return earlier;
  const paths = [step.isChain ? path : input.name];
  const found =
    (await collectInputFromStore(collector, step, input, paths)) ??
    (await collectInputFromWorkspace(collector, step, input, paths)) ??
    describeMissingInput(collector, step, input, paths);
  if (step.isChain) collector.shared.add(found, paths, input.sha256);
  return found;
}

/** A file that it found or opened is as good as given, if it has the same hash still. */
async function collectKnownInput(
  collector: PackCollector,
  step: ChainStep,
  { path, size, sha256 }: KnownInput,
): Promise<FileOfRun> {
  const { workingDir } = step.execution;
  const isInFolder = path.startsWith(`${workingDir.replace(/\/+$/, '')}/`);
  const name = isInFolder && !step.isChain ? path.slice(workingDir.replace(/\/+$/, '').length + 1) : path;
  const input = { fileId: null, origin: null, name, size };
  if (sha256 !== null) return collectRunInput(collector, step, { ...input, sha256 });
  return describeMissingInput(collector, step, { ...input, sha256 }, [name]);
}

const maxIncompleteNamed = 10;

/** One note for all runs, with the reasons, which are often the same. */
export function noteIncompleteInputs({ notes }: PackCollector, chain: readonly ChainStep[]): void {
  const steps = chain.filter(({ execution }) => execution.inputsMayBeIncomplete);
  if (steps.length === 0) return;
  const more = steps.length - maxIncompleteNamed;
  const who = steps.slice(0, maxIncompleteNamed).map(({ title }) => title);
  const all = more > 0 ? [...who, `${more} more`] : who;
  const why = new Set(steps.flatMap(({ execution }) => execution.inputNotes));
  notes.push(
    [`inputs_may_be_incomplete: ${all.join(', ')} may have read files that are not recorded.`, ...why].join(
      ' ',
    ),
  );
}

/** Collected last, so that no input file has to be renamed. */
function collectRunStdin(
  collector: PackCollector,
  { execution, title, folder }: ChainStep,
): Promise<PackedFile> {
  const { stdin, stdinBytes } = execution;
  if (Buffer.byteLength(stdin) !== stdinBytes)
    collector.notes.push(
      `stdin contained NUL, which is stored as ${nulReplacement}: it is not packed byte for byte.`,
    );
  const description = `What ${title} could read from its standard input`;
  const labels = { folder: `${folder}inputs`, name: 'stdin.txt', knownAs: [stdinFileName], description };
  return addTextFile(collector, stdin, 'text/plain', labels);
}

/** The origin as recorded with the input. Only files of other crates have one here. */
function toInputOrigin({ origin }: Pick<InputFileRecord, 'origin'>): FileOrigin | null {
  const { crate_id: crateId, path } = origin ?? {};
  return crateId === undefined || path === undefined ? null : { crateId, path };
}

const toInputLabels = ({ folder, title }: ChainStep, input: InputFileRecord, knownAs: readonly string[]) => ({
  folder: `${folder}inputs`,
  name: input.name,
  knownAs,
  description: `A file that ${title} was given or found`,
  origin: toInputOrigin(input),
});

async function collectInputFromStore(
  collector: PackCollector,
  step: ChainStep,
  input: InputFileRecord,
  names: readonly string[],
): Promise<PackedFile | null> {
  if (input.fileId === null) return null;
  const stored = await collector.files.find(collector.caller, input.fileId);
  return stored && (await addStoredFile(collector, stored, toInputLabels(step, input, names)));
}

/** A run gets copies in its working folder. A copy with the same hash is as good as the original. */
async function collectInputFromWorkspace(
  collector: PackCollector,
  step: ChainStep,
  input: InputFileRecord,
  names: readonly string[],
): Promise<PackedFile | null> {
  const { workspace, signal } = collector;
  const file = workspace && locateWorkspaceFile(workspace, step.execution.workingDir, input.name);
  if (file === null) return null;
  const measured = await measureWorkspaceFile(file, signal);
  if (typeof measured === 'string' || measured.sha256 !== input.sha256) return null;
  return addWorkspaceFile(collector, file, measured, toInputLabels(step, input, names));
}

function describeMissingInput(
  { naming, notes }: PackCollector,
  { folder, title }: ChainStep,
  input: Omit<InputFileRecord, 'sha256'> & { readonly sha256: string | null },
  knownAs: readonly string[],
): MissingFile {
  const fate = input.sha256 === null ? 'was not hashed' : 'is gone';
  notes.push(
    `The input ${JSON.stringify(input.name)} ${fate}: the crate describes it, but does not contain it.`,
  );
  return {
    path: naming(`${folder}inputs`, input.name),
    knownAs,
    description: `A file that ${title} was given or found. It ${fate}, and is not in this crate.`,
    size: input.size,
    sha256: input.sha256,
    origin: toInputOrigin(input),
  };
}
