/** Collects what is left of a run: its code, what it was given (`gather-inputs.ts`), what it made, and its output. */
import type { Execution } from '../../executions/executions.ts';
import type { Language } from '../../sandbox/sandbox.ts';
import type { CallRecord } from '../../tool-calls/store.ts';
import { toInsidePath, traceResult, type ChainStep } from './chain.ts';
import { collectRunInputs, nulReplacement } from './gather-inputs.ts';
import { collectRunCalls } from './gather-calls.ts';
import { addStoredFile, addTextFile, addWorkspaceFile, type PackCollector } from './gather.ts';
import { shownFolder, type FileOfRun, type MissingFile, type PackedFile, type PackedRun } from './packed.ts';
import {
  locateWorkspaceFile,
  measureWorkspaceFile,
  type MeasuredFile,
  type WorkspaceFile,
} from './workspace-files.ts';
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
  readonly calls: CallRecord;
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
  const results = [
    ...(await collectRunResults(collector, step, options)),
    ...(await collectShownResults(collector, step)),
  ];
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
    shownTexts: execution.results.map(({ text }) => text).filter((text) => text !== ''),
    logs,
    ...(await collectRunCalls(collector, step, options.calls)),
  };
}

const getRunEndTime = ({ startedAt, durationMs }: Execution): number => startedAt + (durationMs ?? 0);

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

async function collectRunResults(
  collector: PackCollector,
  step: ChainStep,
  { includeWorkspace }: Pick<PackRunOptions, 'includeWorkspace'>,
): Promise<FileOfRun[]> {
  const { created, modified, complete } = step.execution.artifacts;
  const names = [...created, ...modified].filter(
    (name) => includeWorkspace || name.startsWith('/artifacts/'),
  );
  const results = new Set<FileOfRun>();
  for (const name of names) {
    const result = await collectRunResult(collector, step, name, created.includes(name));
    if (result !== null) results.add(result);
  }
  if (!complete)
    collector.notes.push(
      `${capitalize(step.title)} may have changed more files: not all could be compared when it ended.`,
    );
  return [...results];
}

/** The clocks of the server and of the filesystem may differ. */
const resultClockSkewMs = 5000;

async function collectRunResult(
  collector: PackCollector,
  step: ChainStep,
  name: string,
  isNew: boolean,
): Promise<FileOfRun | null> {
  const { workspace, signal, notes } = collector;
  const { workingDir } = step.execution;
  const path = toInsidePath(workingDir, name);
  const { found, changedBy } = traceResult(step, path);
  const file = workspace && locateWorkspaceFile(workspace, workingDir, name);
  const measured = file === null ? 'is gone' : await measureWorkspaceFile(file, signal);
  const isOther = typeof measured === 'string' || (found !== null && found.sha256 !== measured.sha256);
  if (found !== null && isOther) return describeGoneResult(collector, step, name, found);
  if (changedBy !== null) {
    notes.push(`${quoteResultName(name)} of ${step.title} was changed by ${changedBy}.`);
    return describeGoneResult(collector, step, name, { size: null, sha256: null });
  }
  if (typeof measured === 'string') {
    notes.push(`${quoteResultName(name)} ${measured}, so it is left out.`);
    return null;
  }
  if (found === null && measured.modified > getRunEndTime(step.execution) + resultClockSkewMs)
    notes.push(`${quoteResultName(name)} was changed after the run: it is packed as it is now.`);
  return (
    collector.shared.findByPath(path, measured.sha256) ??
    addRunResult(collector, step, { name, path, isNew, file: file!, measured })
  );
}

interface FoundResult {
  readonly name: string;
  readonly path: string;
  readonly isNew: boolean;
  readonly file: WorkspaceFile;
  readonly measured: MeasuredFile;
}

function addRunResult(collector: PackCollector, step: ChainStep, result: FoundResult): PackedFile {
  const { name, path, isNew, file, measured } = result;
  const paths = [step.isChain ? path : name];
  const packed = addWorkspaceFile(collector, file, measured, {
    ...toResultPlace(step, name),
    knownAs: paths,
    description: isNew
      ? `A file that ${step.title} made`
      : `A file that ${step.title} changed, as it was after it`,
  });
  if (step.isChain) collector.shared.add(packed, paths, measured.sha256);
  return packed;
}

function toResultPlace({ folder }: ChainStep, name: string): { folder: string; name: string } {
  const inArtifacts = name.startsWith('/artifacts/');
  return {
    folder: `${folder}${inArtifacts ? 'results' : 'results/working'}`,
    name: inArtifacts ? name.slice(1) : name,
  };
}

/** A result that a later step found, and that is gone or has changed since. Its hash is known from that step. */
function describeGoneResult(
  { naming, shared, notes }: PackCollector,
  step: ChainStep,
  name: string,
  { size, sha256 }: { size: number | null; sha256: string | null },
): MissingFile {
  const insidePath = toInsidePath(step.execution.workingDir, name);
  const known = sha256 === null ? null : shared.findByPath(insidePath, sha256);
  if (known !== null) return known as MissingFile;
  const place = toResultPlace(step, name);
  const paths = [insidePath];
  const description = `A file that ${step.title} made. It was gone or changed when the crate was packed, and is not in it.`;
  const path = naming(place.folder, place.name);
  const gone = { path, knownAs: paths, description, size, sha256, origin: null };
  notes.push(
    `${quoteResultName(name)}, as ${step.title} left it, is gone: the crate describes it, but does not contain it.`,
  );
  if (sha256 !== null) shared.add(gone, paths, sha256);
  return gone;
}

/** Figures and other results that it showed, which were stored as files. */
async function collectShownResults(
  collector: PackCollector,
  { execution, folder, title }: ChainStep,
): Promise<PackedFile[]> {
  const { files, caller, notes } = collector;
  const packed: PackedFile[] = [];
  for (const { name, kind, fileId } of listShownParts(execution.results)) {
    const stored = fileId === null ? null : await files.find(caller, fileId);
    const file =
      stored &&
      (await addStoredFile(collector, stored, {
        folder: `${folder}results/shown`,
        name,
        knownAs: [`${shownFolder}${name}`],
        description: `A ${kind} that ${title} showed`,
      }));
    if (file === null) notes.push(`${name}, which ${title} showed, is gone, so it is left out.`);
    else packed.push(file);
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

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const maxQuotedResultName = 200;

/** Quoted, so that a file name cannot imitate a note. */
function quoteResultName(name: string): string {
  return JSON.stringify(name.length > maxQuotedResultName ? `${name.slice(0, maxQuotedResultName)}…` : name);
}
