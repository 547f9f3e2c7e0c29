/** Collects the inputs of a run: files that it was given, that it found or opened, and its stdin. */
import type { InputFileRecord } from '../../core/runs/executions.ts';
import type { KnownInput } from '../provenance/provenance.ts';
import { toPathInRun, type ChainStep } from './chain.ts';
import {
  addRecordedBytes,
  addStoredFile,
  addTextFile,
  describeMissingFile,
  type PackCollector,
} from './gather.ts';
import { stdinFileName, type FileOfRun, type FileOrigin, type PackedFile } from './packed.ts';
import { findUnchangedFile } from './recorded-bytes.ts';

/** Executions store NUL as this, since PostgreSQL cannot store NUL. */
export const nulReplacement = '\u2400';

/** An input as recorded: by the hash that it had when the run started. */
interface RecordedInput extends Omit<InputFileRecord, 'sha256'> {
  readonly sha256: string | null;
  /** The run that made it, where that is known. */
  readonly madeBy?: string | null;
}

/**
 * The inputs of a run by their recorded hashes: stored files, kept results of other runs, or files in the workspace that
 * are unchanged; and its stdin.
 */
export async function collectRunInputs(collector: PackCollector, step: ChainStep): Promise<FileOfRun[]> {
  const { workingDir, inputs: given, knownInputs } = step.execution;
  const inputs = new Set<FileOfRun>();
  const paths = new Set(given.map(({ name }) => toPathInRun(workingDir, name)));
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
  input: RecordedInput,
): Promise<FileOfRun> {
  const { shared } = collector;
  const { sha256, size, name } = input;
  const path = toPathInRun(step.execution.workingDir, name);
  const knownAs = [step.isChain ? path : name];
  const labels = toInputLabels(step, input, knownAs);
  if (sha256 === null)
    return describeMissingFile(
      collector,
      step,
      { ...labels, size, sha256 },
      'not hashed: it changed, or took too long, while the run started',
    );
  const earlier = shared.findCopy(path, sha256);
  if (earlier !== null) return earlier;
  const found =
    (await collectInputFromStore(collector, input, sha256, labels)) ??
    (await collectInputBytes(collector, step, { ...input, sha256 }, labels));
  if (step.isChain) shared.add(found, knownAs, sha256);
  return found;
}

/** A file that it found or opened is as good as given. */
function collectKnownInput(
  collector: PackCollector,
  step: ChainStep,
  { path, size, sha256, madeBy }: KnownInput,
): Promise<FileOfRun> {
  const folder = `${step.execution.workingDir.replace(/\/+$/, '')}/`;
  const name = path.startsWith(folder) && !step.isChain ? path.slice(folder.length) : path;
  return collectRunInput(collector, step, { fileId: null, origin: null, name, size, sha256, madeBy });
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

const toInputLabels = ({ folder, title }: ChainStep, input: RecordedInput, knownAs: readonly string[]) => ({
  folder: `${folder}inputs`,
  name: input.name,
  knownAs,
  description: `A file that ${title} was given or found`,
  origin: toInputOrigin(input),
});

async function collectInputFromStore(
  collector: PackCollector,
  { fileId }: RecordedInput,
  sha256: string,
  labels: ReturnType<typeof toInputLabels>,
): Promise<PackedFile | null> {
  if (fileId === null) return null;
  const stored = await collector.files.find(collector.caller, fileId);
  return stored?.sha256 === sha256 ? addStoredFile(collector, stored, labels) : null;
}

/** Results of other runs are kept; and a file in the workspace with the same hash is as good as the original. */
async function collectInputBytes(
  collector: PackCollector,
  step: ChainStep,
  { name, size, sha256, madeBy = null }: RecordedInput & { readonly sha256: string },
  labels: ReturnType<typeof toInputLabels>,
): Promise<FileOfRun> {
  const { kept, workspace, signal } = collector;
  const { workingDir } = step.execution;
  if (madeBy !== null) await kept.addById(madeBy);
  const bytes =
    (await kept.find(sha256, signal)) ??
    (await findUnchangedFile(workspace, { workingDir, name }, { size, sha256 }, signal));
  if (typeof bytes !== 'string') return addRecordedBytes(collector, labels, bytes);
  return describeMissingFile(
    collector,
    step,
    { ...labels, size, sha256 },
    `nobody kept it as the run read it; ${bytes}`,
  );
}
