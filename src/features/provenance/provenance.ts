/**
 * The door of this room: where the data of a run came from and went. What it may have read is found out before it starts
 * and told by Python while it runs; what it made is hashed and kept when it has ended, before anybody is told of that.
 *
 * The folders are hostile, and other runs may write to them at the same time: a file that is not in the state in which the
 * comparison found it has no hash. Which files there are is found out in `core/runs/difference.ts`.
 */
import type {
  EndedRun,
  PreparingRun,
  RunExtension,
  RunPart,
  StartingRun,
} from '../../core/runs/extension.ts';
import { canRunsRead } from '../../core/workspaces/workspaces.ts';
import { isInState, type ChangedFile, type EndedComparison } from '../../core/runs/difference.ts';
import type { Execution } from '../../core/runs/executions.ts';
import type { Clock } from '../../platform/clock.ts';
import { startTimeSlices } from '../../platform/concurrency/yield.ts';
import { getErrno, isWorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openBelow } from '../../platform/paths/paths.ts';
import type { Sandbox, Workspace } from '../../ports/sandbox/sandbox.ts';
import {
  createFileHashes,
  hashDescriptor,
  recordMakers,
  startWatch,
  type InputWatch,
} from './input-watch.ts';
import {
  createKeptResults,
  type KeptResults,
  type KeptResultsOptions,
  type ResultKeeper,
} from './kept-results.ts';
import {
  maxResultBytes,
  maxResultFiles,
  unknownInputs,
  unknownResults,
  type InputKnowledge,
  type RecordedResults,
  type ResultFile,
  type ResultGap,
} from './record.ts';

export { createKeptReader, type KeptReader, type ReadResult } from './kept-results.ts';
export { describeGap, type KnownInput, type ResultFile } from './record.ts';

/** What the record of a run knows of its files. */
export const filesOfRun = {
  listRead: ({ knownInputs }: Execution) => knownInputs,
  listMade: ({ resultFiles }: Execution) => resultFiles,
  /** These files that it made, with the hashes that they had when it ended: another run may have changed them already. */
  addHashes({ resultFiles }: Execution, paths: readonly string[]) {
    const hashes = new Map(resultFiles?.files.map(({ path, sha256 }) => [path, sha256]));
    return paths.map((path) => ({ path, sha256: hashes.get(path) ?? null }));
  },
};

export interface ProvenanceOptions extends Omit<KeptResultsOptions, 'isBusy'> {
  readonly clock: Clock;
}

export type Provenance = ReturnType<typeof createProvenance>;

export function createProvenance(options: ProvenanceOptions) {
  const { database, clock, log } = options;
  let underWay = 0;
  const kept = createKeptResults({ ...options, isBusy: () => underWay > 0 });
  const hashes = createFileHashes();

  function joinRun({ id, caller, request, place, home }: PreparingRun): RunPart {
    kept.watch(home);
    underWay++;
    let isOver = false;
    let watch: InputWatch | null = null;

    async function endWatch(ended: EndedRun): Promise<InputKnowledge> {
      try {
        return ended.compared === null || watch === null ? unknownInputs : await watch.end();
      } catch (error) {
        log.error('execution.not_compared', { id, error });
        return unknownInputs;
      }
    }

    return {
      async look({ comparison, folder, given }: StartingRun) {
        const { language } = request;
        const looking = { database, hashes, owner: caller.user, place, folder, language, given };
        watch = await startWatch(looking, comparison);
      },
      take: (report) => watch?.take(report),
      async finish(begun, ended) {
        if (ended === null) return {};
        const known = await endWatch(ended);
        const results =
          ended.compared === null
            ? unknownResults
            : await recordResults({ kept, clock, log }, { place, home, begun }, ended.compared);
        return { fields: { ...known, ...results }, ...toMade(id, ended.compared?.made ?? []) };
      },
      [Symbol.dispose]() {
        if (!isOver) underWay--;
        isOver = true;
      },
    };
  }

  /** Later runs know by it who made these files. */
  const toMade = (id: string, made: readonly ChangedFile[]) =>
    made.length === 0
      ? {}
      : {
          write: recordMakers.bind(null, made),
          failed: (error: unknown) => log.warn('execution.made_files_not_recorded', { id, error }),
        };

  const extension: RunExtension = {
    prepare: joinRun,
    noteEnded: kept.noteEnded,
    forget: (gone) => kept.removeFiles(gone.filter(({ kept_bytes: bytes }) => (bytes as number) > 0)),
    sweep: kept.sweep,
  };

  return {
    extension,

    /** The bytes of a result of the caller's run, as they were when it ended; null where they are not kept, or gone. */
    findResult: kept.findResult,

    /** These runs of the caller are in a crate now: what is kept of them goes first. */
    notePacked: kept.notePacked,

    /** The same sandbox. Where the disk is full, kept results go before a run is refused. */
    letKeptGiveWay: (sandbox: Sandbox): Sandbox => ({
      ...sandbox,
      claimDisk: (place, bytes) => kept.withRoom(place, bytes, () => sandbox.claimDisk(place, bytes)),
      start: (request) => kept.withRoom(request.place, 0, () => sandbox.start(request)),
      startSession: (request) => kept.withRoom(request.place, 0, () => sandbox.startSession(request)),
    }),

    [Symbol.asyncDispose]: kept[Symbol.asyncDispose],
  };
}

interface ResultsContext {
  readonly kept: Pick<KeptResults, 'startKeeping'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface RunWithResults {
  readonly place: Workspace;
  /** Where results are kept. */
  readonly home: Workspace;
  readonly begun: Pick<Execution, 'id' | 'owner'>;
}

/** What is to be recorded of what a run made. What cannot be hashed must not cost anybody the result. */
async function recordResults(
  { kept, clock, log }: ResultsContext,
  { place, home, begun }: RunWithResults,
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
