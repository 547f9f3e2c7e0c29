/**
 * A session whose interpreter is in this process: its turns, its cells and how it ends. Which sessions there are and who
 * may use them is in `sessions.ts`.
 */
import type { CellSlot } from '../cell-slot.ts';
import type { Components } from '../../../platform/paths/paths.ts';
import type {
  CellEnd,
  CellRequest,
  CellRun,
  SandboxSession,
  Workspace,
} from '../../../ports/sandbox/sandbox.ts';
import { toSessionEnd, type SessionEnd } from './ends.ts';
import { sessionEndedError } from './errors.ts';
import type { History, HistoryMark } from './history.ts';
import type { SessionLog } from './log.ts';
import type { SavedFolder } from './saved-folder.ts';
import type { HeldJob } from '../../jobs/jobs.ts';
import type { SessionRecord } from './store.ts';
import { createTurns, type Turns } from './turns.ts';

/** A state to go back to. */
export interface Checkpoint {
  /** What the sandbox calls it. */
  readonly key: string;
  readonly mark: HistoryMark;
  readonly savedAt: number;
  /** Null where the session has no folder of its own. */
  readonly folder: SavedFolder | null;
}

export interface LiveSession extends HeldJob {
  readonly record: SessionRecord;
  readonly place: Workspace;
  /** Its own folder in /workspace; null where it was told to work elsewhere. */
  readonly ownFolder: Components | null;
  readonly interpreter: SandboxSession;
  readonly turns: Turns;
  readonly log: SessionLog;
  readonly checkpoints: Map<string, Checkpoint>;
  /** How many checkpoints there ever were, for their keys. */
  checkpointsMade: number;
  history: History;
  lastUsed: number;
  /** The same by a clock that never jumps, for what ends a session that nobody uses. */
  lastUsedSteadily: number;
  /** As it was when its row was written last. */
  notedUse: number;
  /** The number of the last slot. */
  lastNumber: number;
  /** Cells that were run. */
  cells: number;
  /** Settles when the cell that is running is over. */
  running: Promise<unknown>;
  /** The slot whose cell is running. */
  current: number | null;
  end: SessionEnd | null;
}

export type NewLive = Pick<
  LiveSession,
  'record' | 'place' | 'ownFolder' | 'interpreter' | 'log' | 'cancel' | 'lose'
>;

export function createLive(given: NewLive): LiveSession {
  const now = performance.now();
  return {
    ...given,
    owner: given.record.owner,
    epoch: 1,
    turns: createTurns(),
    checkpoints: new Map(),
    checkpointsMade: 0,
    history: given.record.history,
    lastUsed: given.record.createdAt,
    lastUsedSteadily: now,
    notedUse: now,
    // A fork goes on counting, so that no two of its cells have one number.
    lastNumber: given.record.history.base?.cell ?? 0,
    cells: 0,
    running: Promise.resolve(),
    current: null,
    end: null,
  };
}

/** Whether its /workspace and /artifacts are no other run's, since it was replayed. */
export const hasOwnPlace = ({ place }: Pick<LiveSession, 'place'>): boolean => place.beside !== undefined;

const ownPlaceNote =
  'This session was replayed, so its /workspace and /artifacts are its own, and go with it. pack_crate packs what its cells make; get_artifact finds none of it.';

export interface SlotOptions {
  readonly notes: readonly string[];
  readonly clock: () => number;
  /** Called where a cell has ended the session. */
  readonly ended: (end: SessionEnd) => void;
}

/** The next place in the queue of a session. */
export function takeSlot(live: LiveSession, { notes, clock, ended }: SlotOptions): CellSlot {
  const turn = live.turns.take();
  const { record, place } = live;
  const { id, name, language, folder } = record;
  const number = ++live.lastNumber;
  noteUsed(live, clock);
  return {
    id,
    name,
    number,
    language,
    workingDir: folder,
    place: hasOwnPlace(live) ? place : null,
    notes: hasOwnPlace(live) ? [...notes, ownPlaceNote] : notes,
    async waitForTurn(signal) {
      await turn.wait(signal);
      demandGoingOn(live);
    },
    run: (cell) => runCell(live, number, cell, clock, ended),
    explainLoss: () => live.end?.text ?? null,
    release() {
      noteUsed(live, clock);
      turn.release();
    },
  };
}

/** The time of its last use is shown by the clock of people, and judged by another one. */
export function noteUsed(live: LiveSession, clock: () => number): void {
  live.lastUsed = clock();
  live.lastUsedSteadily = performance.now();
}

async function runCell(
  live: LiveSession,
  number: number,
  cell: CellRequest,
  clock: () => number,
  ended: SlotOptions['ended'],
): Promise<CellRun> {
  demandGoingOn(live);
  const run = await live.interpreter.run({ ...cell, number });
  live.cells++;
  live.current = number;
  const settle = (end: CellEnd): CellEnd => {
    live.current = null;
    noteUsed(live, clock);
    if (end.state === 'lost') ended(toSessionEnd(end));
    return end;
  };
  const over = run.ended.then(settle);
  live.running = over;
  return { stdout: run.stdout, stderr: run.stderr, reports: run.reports, ended: over };
}

export function demandGoingOn({ record, end }: LiveSession): void {
  if (end !== null) throw sessionEndedError(record, end);
}
