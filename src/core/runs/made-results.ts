/**
 * The files that a run made or changed: they are hashed when it has ended, before anybody is told of its end, and copied
 * within a limit. The folders are hostile, and other runs may write to them at the same time: a file that is not in the
 * state in which the comparison found it has no hash. Which files there are is found out in `difference.ts`.
 */
import { z } from 'zod';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import type { Clock } from '../../platform/clock.ts';
import { startTimeSlices } from '../../platform/concurrency/yield.ts';
import { getErrno, isWorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openBelow } from '../../platform/paths/paths.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import { canRunsRead } from '../workspaces/workspaces.ts';
import { hashDescriptor, isInState } from './file-hashes.ts';
import type { Execution } from './fields.ts';
import type { ChangedFile, EndedComparison } from './difference.ts';
import type { KeptResults, ResultKeeper } from './kept-results.ts';

/** Of one run. What is beyond is not hashed. */
export const maxResultBytes = 1024 ** 3;
const maxResultFiles = 10_000;

/** Why a result has no hash, or why its bytes were not kept. */
type ResultGap = 'changed' | 'unreadable' | 'hash_limit' | 'keep_limit' | 'hidden' | 'no_room';

const gapTexts: Readonly<Record<ResultGap, string>> = {
  changed: 'it was being changed when the run ended',
  unreadable: 'it was gone, or could not be read, when the run ended',
  hash_limit: `of the results of a run, ${formatBytes(maxResultBytes)} are hashed`,
  keep_limit: 'the results of the run were larger than what is kept of a run (--keep-results)',
  hidden: 'hidden files are not kept',
  no_room: 'there was no room for it when the run ended',
};

/** A file that a run made or changed, as it was when the run ended. */
export interface ResultFile {
  /** As seen inside, such as `/artifacts/plot.png`. */
  readonly path: string;
  readonly size: number;
  /** Null where it was not hashed. */
  readonly sha256: string | null;
  /** Whether the run made it, and not only changed it. */
  readonly isNew: boolean;
  /** Where its bytes were kept: in which file of the run's kept bytes, and from which byte on. */
  readonly kept: { readonly part: number; readonly at: number } | null;
  /** Why it was not hashed or not kept; null where it was both. */
  readonly gap: ResultGap | null;
}

/** All results of a run. */
export interface ResultFiles {
  readonly files: readonly ResultFile[];
  /** How many there are beyond these, which were not hashed. */
  readonly more: number;
}

/** What is recorded of the results of a run. */
export interface RecordedResults {
  /** Null where the end of the run was not seen, and in records of earlier releases: nothing was hashed. */
  readonly resultFiles: ResultFiles | null;
  /** What is kept of their bytes; 0 where nothing was, or where it is gone. */
  readonly keptBytes: number;
  /** When that was kept; 0 where it is in a crate. */
  readonly keptSince: number;
}

/** Of a run that has not ended, or was not seen to. */
export const unknownResults: RecordedResults = { resultFiles: null, keptBytes: 0, keptSince: 0 };

/** Why there are no bytes of a result, in words; null where they are kept. */
export function describeGap({ sha256, kept, gap }: ResultFile, keptBytes: number): string | null {
  if (sha256 === null) return `not hashed: ${gapTexts[gap ?? 'unreadable']}`;
  // Of an empty file everything is known.
  if (kept === null) return gap && `not kept: ${gapTexts[gap]}`;
  return keptBytes > 0 ? null : 'not kept any more: the oldest kept results go first, to make room';
}

const maxShownResults = 100;

const resultFilesShape = z
  .object({
    files: z.array(
      z.object({
        path: z.string(),
        size: z.number(),
        sha256: z.string().nullable().describe('As it was at the end; null where it was not hashed'),
        note: z.string().nullable().describe('Why it was not hashed, or its bytes are not kept'),
      }),
    ),
    more: z.number().int().describe('Files that are not listed here'),
  })
  .nullable()
  .describe('Files that it made or changed, as they were at its end; null where nobody hashed them');

function showResultFiles({ resultFiles, keptBytes }: RecordedResults): z.input<typeof resultFilesShape> {
  if (resultFiles === null) return null;
  const { files, more } = resultFiles;
  const shown = files.slice(0, maxShownResults);
  return {
    files: shown.map((file) => {
      const { path, size, sha256 } = file;
      return { path, size, sha256, note: describeGap(file, keptBytes) };
    }),
    more: files.length - shown.length + more,
  };
}

/** How a record shows them: as a field that is worked out of two others. */
export const shownResultFiles = {
  column: null,
  json: 'result_files' as const,
  schema: resultFilesShape,
  derive: showResultFiles,
};

const maxNamedResults = 5;

/** What of its results was not hashed, in a line for each reason; most runs have none. */
export function toUnhashedLines({ resultFiles }: RecordedResults): string[] {
  if (resultFiles === null) return [];
  const { files, more } = resultFiles;
  const unhashed = files.filter(({ sha256 }) => sha256 === null);
  const reasons = new Set(unhashed.map((file) => describeGap(file, 0)!));
  return [
    ...[...reasons].map((reason) => nameFiles(unhashed, reason, 0)),
    ...(more === 0
      ? []
      : [
          `Not hashed: ${more} more files. Of the results of a run, ${maxResultFiles} are hashed that can be named.`,
        ]),
  ];
}

/** Of results whose bytes are not kept, in a line for each reason. */
export function toUnkeptLines({ resultFiles, keptBytes }: RecordedResults): string[] {
  if (resultFiles === null) return [];
  const unkept = resultFiles.files.filter(
    (file) => file.sha256 !== null && describeGap(file, keptBytes) !== null,
  );
  const reasons = new Set(unkept.map((file) => describeGap(file, keptBytes)!));
  return [...reasons].map((reason) => nameFiles(unkept, reason, keptBytes));
}

function nameFiles(files: readonly ResultFile[], reason: string, keptBytes: number): string {
  const of = files.filter((file) => describeGap(file, keptBytes) === reason);
  const names = of.slice(0, maxNamedResults).map(({ path }) => quoteName(path));
  const more = of.length > names.length ? ` and ${of.length - names.length} more` : '';
  const [what, why] = [reason.slice(0, reason.indexOf(':')), reason.slice(reason.indexOf(':') + 2)];
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}: ${names.join(', ')}${more}: ${why}.`;
}

interface ResultsContext {
  readonly kept: Pick<KeptResults, 'startKeeping'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface EndedRun {
  readonly place: Workspace;
  /** Where results are kept. */
  readonly home: Workspace;
  readonly begun: Pick<Execution, 'id' | 'owner'>;
}

/** What is to be recorded of what a run made. What cannot be hashed must not cost anybody the result. */
export async function recordResults(
  { kept, clock, log }: ResultsContext,
  { place, home, begun }: EndedRun,
  compared: EndedComparison,
): Promise<RecordedResults> {
  const { made, moreMade, difference } = compared;
  // Nobody compared: nobody knows.
  if (made.length === 0 && !difference.complete && moreMade === 0) return unknownResults;
  if (made.length === 0) return { resultFiles: { files: [], more: moreMade }, ...nothingKept };
  const sizes = made.map(({ state }) => Number(state.size));
  try {
    using keeper = await kept.startKeeping(home, begun, sizes);
    return await takeResults({ place, keeper, now: clock() }, compared);
  } catch (error) {
    log.error('execution.results_not_hashed', { id: begun.id, error });
    return unknownResults;
  }
}

interface TakeOptions {
  readonly place: Workspace;
  readonly keeper: ResultKeeper;
  readonly now: number;
}

/** The hashes of what a run made, and what was kept of it. */
async function takeResults(
  { place, keeper, now }: TakeOptions,
  { made, moreMade }: Pick<EndedComparison, 'made' | 'moreMade'>,
): Promise<RecordedResults> {
  const budget = { left: maxResultBytes };
  const slices = startTimeSlices();
  const files: ResultFile[] = [];
  for (const file of made.slice(0, maxResultFiles)) {
    files.push(await takeResult(place, keeper, budget, file));
    if (slices.isOver()) await slices.next();
  }
  const more = made.length - files.length + moreMade;
  const hasKept = files.some(({ kept }) => kept !== null);
  if (!hasKept && keeper.bytes > 0) await keeper.remove();
  return {
    resultFiles: { files, more },
    ...(hasKept ? { keptBytes: keeper.bytes, keptSince: now } : nothingKept),
  };
}

const nothingKept = { keptBytes: 0, keptSince: 0 };

async function takeResult(
  place: Workspace,
  keeper: ResultKeeper,
  budget: { left: number },
  { path, base, below, state, isNew }: ChangedFile,
): Promise<ResultFile> {
  const size = Number(state.size);
  const withoutHash = (gap: ResultGap): ResultFile => ({ path, size, sha256: null, isNew, kept: null, gap });
  if (state.size > BigInt(budget.left)) return withoutHash('hash_limit');
  if (below === null) return withoutHash('unreadable');
  budget.left -= size;
  try {
    using file = openBelow(base).open(below);
    if (!canRunsRead(place, file.stats)) return withoutHash('unreadable');
    if (!isInState(file.fd, state)) return withoutHash('changed');
    const gap = findGap(keeper, path, size);
    const { sha256, kept } =
      gap === null && size > 0
        ? await keeper.copy(file, size)
        : { sha256: await hashDescriptor(file.fd, size, Infinity), kept: null };
    if (sha256 !== null && isInState(file.fd, state))
      return { path, size, sha256, isNew, kept, gap: kept === null && size > 0 ? (gap ?? 'no_room') : null };
    if (kept !== null) keeper.takeBack();
    return withoutHash('changed');
  } catch (error) {
    // Gone, a link, folder or FIFO in its place, or bytes that the disk cannot read: that must not cost the result.
    if (isWorkcrateError(error) || getErrno(error) !== null) return withoutHash('unreadable');
    throw error;
  }
}

const isHidden = (path: string): boolean => path.includes('/.');

function findGap({ left }: ResultKeeper, path: string, size: number): ResultGap | null {
  if (isHidden(path)) return 'hidden';
  if (left < 0) return 'no_room';
  return size > left ? 'keep_limit' : null;
}
