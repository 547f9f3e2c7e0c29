import { WorkcrateError } from '../../errors.ts';
import type { Execution } from '../../executions/executions.ts';
import type { Language } from '../../sandbox/sandbox.ts';
import { gatherInputs } from './gather-inputs.ts';
import { addFromPlace, addStored, addText, nulSign, type Gathering } from './gathering.ts';
import type { PackedFile, PackedRun } from './packed.ts';
import { measure, placeFile } from './place-files.ts';
import { errorOf, limitsOf, outcomeOf, runtimeOf } from './run-facts.ts';

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
