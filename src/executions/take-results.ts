/**
 * Hashes the files that a run made or changed when it has ended, before anybody is told of its end, and keeps copies of
 * them within a limit. The folders are hostile, and other runs may write to them meanwhile: a file that is not in the
 * state in which the comparison found it has no hash. Which files there are is found out in `folder-diff.ts`.
 */
import type { Clock } from '../clock.ts';
import { startTimeSlices } from '../concurrency/yield.ts';
import { getErrno, isWorkcrateError } from '../errors.ts';
import type { Log } from '../observability/log.ts';
import { openBelow } from '../paths/paths.ts';
import type { Workspace } from '../sandbox/sandbox.ts';
import { canRunsRead } from '../workspaces/workspaces.ts';
import { hashDescriptor, isInState } from './file-hashes.ts';
import type { Execution } from './fields.ts';
import type { ChangedFile, EndedComparison } from './folder-diff.ts';
import type { KeptResults } from './kept-results.ts';
import {
  maxResultBytes,
  maxResultFiles,
  unknownResults,
  type RecordedResults,
  type ResultFile,
  type ResultGap,
} from './made-results.ts';
import type { ResultKeeper } from './result-keeper.ts';

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
