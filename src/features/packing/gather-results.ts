/**
 * Collects what a run made, from its record: every file with the hash that it had when the run ended. What has no bytes
 * with this hash any more is described, with the reason. Nothing is packed for its name alone.
 */
import type { Execution } from '../../core/runs/executions.ts';
import { describeGap, type ResultFile } from '../provenance/provenance.ts';
import { toPathInRun, type ChainStep } from './chain.ts';
import { addRecordedBytes, describeMissingFile, type PackCollector } from './gather.ts';
import type { FileOfRun } from './packed.ts';
import { findUnchangedFile } from './recorded-bytes.ts';

export interface CollectedResults {
  readonly results: readonly FileOfRun[];
  /** How many files it made or changed beyond these, which nobody hashed. */
  readonly more: number;
  /** False where it may have made files that nobody saw. */
  readonly complete: boolean;
}

/** A file that a run made or changed, as recorded. */
interface RecordedResult {
  /** As seen inside. */
  readonly path: string;
  /** As the code names it: in its working folder, or as a path. */
  readonly name: string;
  readonly isNew: boolean;
  readonly size: number | null;
  readonly sha256: string | null;
  /** Why there is no hash, or why no bytes were kept, as a clause; null where they were. */
  readonly gap: string | null;
}

export async function collectRunResults(
  collector: PackCollector,
  step: ChainStep,
  includeWorkspace: boolean,
): Promise<CollectedResults> {
  const { title, execution } = step;
  const recorded = listRecordedResults(execution);
  const wanted = recorded.filter((result) => includeWorkspace || isArtifact(result));
  const results = new Set<FileOfRun>();
  for (const result of wanted) results.add(await collectRunResult(collector, step, result));
  const more = execution.resultFiles?.more ?? 0;
  const { complete } = execution.artifacts;
  const leftOut = recorded.length - wanted.length;
  if (leftOut > 0)
    collector.notes.push(`${leftOut} files in the working folder of ${title} are left out, as asked for.`);
  if (more > 0)
    collector.notes.push(
      `${capitalize(title)} made or changed ${more} more files, which are not hashed and not in the crate.`,
    );
  if (!complete && execution.resultFiles === null)
    collector.notes.push(
      `${capitalize(title)} may have changed more files: not all could be compared when it ended.`,
    );
  return { results: [...results], more, complete };
}

/** Records of earlier releases, and of runs whose end was not seen, have names alone. */
function listRecordedResults({ workingDir, resultFiles, keptBytes, artifacts }: Execution): RecordedResult[] {
  if (resultFiles === null) {
    const { created, modified } = artifacts;
    return [...created, ...modified].map((name, index) => ({
      path: toPathInRun(workingDir, name),
      name,
      isNew: index < created.length,
      size: null,
      sha256: null,
      gap: 'not hashed: nobody hashed what this run made when it ended',
    }));
  }
  return resultFiles.files.map((file) => ({
    ...file,
    name: toNameInFolder(workingDir, file),
    gap: describeGap(file, keptBytes),
  }));
}

/** As the run names it: from its working folder on, where it is in there. */
function toNameInFolder(workingDir: string, { path }: ResultFile): string {
  const folder = `${workingDir.replace(/\/+$/, '')}/`;
  return path.startsWith(folder) ? path.slice(folder.length) : path;
}

const isArtifact = ({ name }: Pick<RecordedResult, 'name'>): boolean => name.startsWith('/artifacts/');

async function collectRunResult(
  collector: PackCollector,
  step: ChainStep,
  result: RecordedResult,
): Promise<FileOfRun> {
  const { path, name, sha256, size, isNew, gap } = result;
  const { kept, workspace, signal, shared } = collector;
  const labels = {
    ...toResultPlace(step, result),
    knownAs: [step.isChain ? path : name],
    description: isNew
      ? `A file that ${step.title} made`
      : `A file that ${step.title} changed, as it was after it`,
  };
  if (sha256 === null) return describeMissingFile(collector, step, { ...labels, size, sha256 }, gap!);
  const earlier = shared.findByPath(path, sha256);
  if (earlier !== null) return earlier;
  const { workingDir } = step.execution;
  const bytes =
    (await kept.find(sha256, signal)) ??
    (await findUnchangedFile(workspace, { workingDir, name }, { size, sha256 }, signal));
  const file =
    typeof bytes === 'string'
      ? describeMissingFile(
          collector,
          step,
          { ...labels, size, sha256 },
          `${gap ?? 'its kept bytes are damaged'}; ${bytes}`,
        )
      : // When it was changed last is not in the record, and the file that has these bytes may be another one.
        { ...addRecordedBytes(collector, labels, bytes), modified: null };
  if (step.isChain) shared.add(file, labels.knownAs, sha256);
  return file;
}

function toResultPlace({ folder }: ChainStep, { name }: RecordedResult): { folder: string; name: string } {
  const inArtifacts = isArtifact({ name });
  return {
    folder: `${folder}${inArtifacts ? 'results' : 'results/working'}`,
    name: inArtifacts ? name.slice(1) : name,
  };
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
