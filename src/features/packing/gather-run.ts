/**
 * Collects what is left of a run: its code, what it was given (`gather-inputs.ts`), what it made (`gather-results.ts`),
 * what it showed, and its output.
 */
import type { Execution } from '../../core/runs/executions.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';
import type { RunCallRecord } from '../code-mode/store.ts';
import type { ChainStep } from './chain.ts';
import { collectRunInputs, nulReplacement } from './gather-inputs.ts';
import { collectRunCalls } from './gather-calls.ts';
import { collectRunResults } from './gather-results.ts';
import { addStoredFile, addTextFile, describeMissingFile, type PackCollector } from './gather.ts';
import { shownFolder, type FileOfRun, type PackedFile, type PackedRun } from './packed.ts';
import { describeRunError, listRunLimits, describeRunOutcome, parseRunRuntime } from './run-facts.ts';
import { listShownParts } from './shown-results.ts';

const codeFileNames: Readonly<Record<Language, { name: string; mediaType: string }>> = {
  python: { name: 'main.py', mediaType: 'text/x-python' },
  node: { name: 'main.js', mediaType: 'text/javascript' },
  bash: { name: 'main.sh', mediaType: 'application/x-sh' },
};

/** How much of the code the preview shows. The whole code is in its file. */
const maxPreviewCodeLength = 64 * 1024;

export interface PackRunOptions {
  /** What the record has of the tools that its code called. */
  readonly calls: RunCallRecord;
  /** Whether files that it changed in its working folder are packed, and not only those in /artifacts. */
  readonly includeWorkspace: boolean;
}

export async function collectRun(
  collector: PackCollector,
  step: ChainStep,
  options: PackRunOptions,
): Promise<PackedRun> {
  const { execution } = step;
  const code = await collectRunCode(collector, step);
  const inputs = await collectRunInputs(collector, step);
  const made = await collectRunResults(collector, step, options.includeWorkspace);
  const results = [...made.results, ...(await collectShownResults(collector, step))];
  const logs = [
    ...(await collectRunLog(collector, step, 'stdout')),
    ...(await collectRunLog(collector, step, 'stderr')),
  ];
  const { id, language, workingDir, startedAt, succeeded, limits } = execution;
  return {
    id,
    title: step.isChain ? step.title.replace('s', 'S') : 'The run',
    language,
    runtime: parseRunRuntime(execution),
    libraries: Object.entries(execution.libraries).map(([name, version]) => ({ name, version })),
    session: step.session,
    cell: execution.cell,
    script: execution.script,
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
    inputsMayBeIncomplete: execution.inputsMayBeIncomplete,
    results,
    moreResults: made.more,
    resultsMayBeIncomplete: !made.complete,
    shownTexts: execution.results.map(({ text }) => text).filter((text) => text !== ''),
    logs,
    ...(await collectRunCalls(collector, step, options.calls)),
  };
}

const getRunEndTime = ({ startedAt, durationMs }: Execution): number | null =>
  durationMs === null ? null : startedAt + durationMs;

function collectRunCode(collector: PackCollector, { execution, folder }: ChainStep): Promise<PackedFile> {
  const { language, code, script } = execution;
  const { name, mediaType } = codeFileNames[language];
  const description =
    script === null
      ? 'The code that was run, as it was given'
      : `The code that was run: the saved script ${script}`;
  if (code.includes(nulReplacement))
    collector.notes.push(
      `The code contains ${nulReplacement}, which also stands for NUL: if it was NUL, the code is not packed byte for byte.`,
    );
  const labels = { folder: `${folder}code`, name, knownAs: [], description };
  return addTextFile(collector, code, mediaType, labels);
}

/** Figures and other results that it showed, which were stored as files. */
async function collectShownResults(collector: PackCollector, step: ChainStep): Promise<FileOfRun[]> {
  const { files, caller } = collector;
  const { execution, folder, title } = step;
  const packed: FileOfRun[] = [];
  for (const { name, kind, fileId, problem, ...part } of listShownParts(execution.results)) {
    const stored = fileId === null ? null : await files.find(caller, fileId);
    const labels = {
      folder: `${folder}results/shown`,
      name,
      knownAs: [`${shownFolder}${name}`],
      description: `A ${kind} that ${title} showed`,
    };
    const file = stored && (await addStoredFile(collector, stored, labels));
    packed.push(
      file ??
        describeMissingFile(
          collector,
          step,
          { ...labels, size: part.size, sha256: part.sha256 },
          problem === null ? 'its stored file is gone' : `it could not be stored: ${problem}`,
        ),
    );
  }
  return packed;
}

/** The output of the run; all of it if that was stored. Without output there is no file. */
async function collectRunLog(
  collector: PackCollector,
  { execution, title, folder }: ChainStep,
  stream: 'stdout' | 'stderr',
): Promise<PackedFile[]> {
  const { files, caller, notes } = collector;
  const text = execution[stream];
  const bytes = execution[`${stream}Bytes`];
  const labels = {
    folder: `${folder}logs`,
    name: `${stream}.txt`,
    knownAs: [],
    description: `What ${title} wrote to ${stream}`,
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
