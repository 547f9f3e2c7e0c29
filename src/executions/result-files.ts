/**
 * Collects the results of a run while it goes on, and stores their parts as files. A quota that is full costs the file,
 * not the run. What a report has to look like is in `results.ts`.
 */
import { asWorkcrateError, isOurFault, publicMessage } from '../errors.ts';
import type { Report } from '../sandbox/sandbox.ts';
import type { ExecutionsOptions } from './executions.ts';
import type { Execution } from './fields.ts';
import type { OutputJudge } from './guarded-run.ts';
import {
  getExtension,
  maxResults,
  parseFurtherResults,
  parseResult,
  type ReportedResult,
  type ResultKind,
  type ResultPart,
  type RunResult,
} from './results.ts';

/** The results of one run, and how many more there were. */
export type RunResults = Pick<Execution, 'results' | 'moreResults'>;

type CollectorOptions = Pick<ExecutionsOptions, 'files' | 'keepOutputSeconds' | 'log'>;

/** Beyond it, a number is no count of anything. */
const maxCounted = 1e9;

/** Takes the reports of a run one after the other, those of other kinds too. */
export function createResultCollector(
  options: CollectorOptions,
  execution: Pick<Execution, 'id' | 'owner'>,
  judge: Pick<OutputJudge, 'checkPart'> | null = null,
) {
  const room = { ...options, judge };
  const results: RunResult[] = [];
  const counts: Record<ResultKind, number> = { value: 0, display: 0, figure: 0 };
  let moreResults = 0;

  return {
    async take(report: Report): Promise<void> {
      moreResults = Math.min(maxCounted, moreResults + parseFurtherResults(report));
      const reported = parseResult(report);
      if (reported === null) return;
      if (results.length === maxResults) {
        moreResults++;
        return;
      }
      const stem = `${execution.id}-${reported.kind}-${++counts[reported.kind]}`;
      results.push(await storeParts(room, execution, stem, reported));
    },
    results: (): RunResults => ({ results, moreResults }),
  };
}

interface StoreOptions extends CollectorOptions {
  /** Reads parts before they are stored. */
  readonly judge: Pick<OutputJudge, 'checkPart'> | null;
}

async function storeParts(
  room: StoreOptions,
  execution: Pick<Execution, 'id' | 'owner'>,
  stem: string,
  reported: ReportedResult,
): Promise<RunResult> {
  const parts: ResultPart[] = [];
  for (const part of reported.parts) parts.push(await storePart(room, execution, stem, part));
  return { ...reported, parts };
}

async function storePart(
  { files, keepOutputSeconds: keepSeconds, judge, log }: StoreOptions,
  { id, owner: user }: Pick<Execution, 'id' | 'owner'>,
  stem: string,
  { mime, bytes }: ReportedResult['parts'][number],
): Promise<ResultPart> {
  const file = { name: `${stem}.${getExtension(mime)}`, mediaType: mime, origin: 'result', keepSeconds };
  try {
    await judge?.checkPart(mime, bytes);
    const { id: fileId, size, sha256 } = await files.add({ user }, file, toStream(bytes));
    return { mime, size, sha256, fileId, problem: null };
  } catch (error) {
    const known = asWorkcrateError(error);
    log[isOurFault(known) ? 'error' : 'info']('execution.result_not_kept', { id, error });
    return { mime, size: bytes.length, sha256: null, fileId: null, problem: publicMessage(known) };
  }
}

async function* toStream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
