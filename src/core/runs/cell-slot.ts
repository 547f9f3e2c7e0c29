/**
 * What a run knows of the session of which it is a cell, and how its line is told. Sessions themselves, their queues
 * and their ends are in `core/runs/sessions/`, which is above this room and hands slots in.
 */
import { z } from 'zod';
import type { Caller } from '../identity.ts';
import type { CellRequest, CellRun, Language, Workspace } from '../../ports/sandbox/sandbox.ts';
import { quoteName } from '../../platform/text/text.ts';
import type { Execution } from './fields.ts';

/** The place of a cell in the queue of its session. Cells get their turns in the order of their slots. */
export interface CellSlot {
  /** `sess_` and 12 hex digits. */
  readonly id: string;
  readonly name: string | null;
  /** The number of the cell. */
  readonly number: number;
  readonly language: Language;
  /** The folder of the session, as seen inside. */
  readonly workingDir: string;
  /** Folders of its own, where the session was replayed; null: those of its user. */
  readonly place: Workspace | null;
  /** What its user has to know beside the result, such as that the session is a new one. */
  readonly notes: readonly string[];
  /** Resolves once the cells before it are over; rejects where the session has ended, or with `cancelled`. */
  waitForTurn(signal: AbortSignal): Promise<void>;
  run(cell: CellRequest): Promise<CellRun>;
  /** Why the session has lost its state, as a clause; null while it has it. */
  explainLoss(): string | null;
  /** Gives the turn to the next cell. Called when the run is over or will not be; the second call does nothing. */
  release(): void;
}

/** Finds the session that a call names, or opens it. */
export interface SessionPort {
  enter(caller: Caller, wanted: WantedSession): Promise<CellSlot>;
}

export interface WantedSession {
  /** An id, or a name of the caller's own, which makes a session if there is none. */
  readonly session: string;
  /** Null takes that of the session, and makes none. */
  readonly language: Language | null;
  /** Ends the session first, so that the cell begins with nothing. */
  readonly reset: boolean;
}

export const cellShape = z.object({
  session_id: z.string(),
  name: z.string().nullable(),
  cell: z.number(),
  state: z.enum(['kept', 'lost']).nullable().describe('Null while the cell runs'),
  lost_because: z.string().nullable(),
  notes: z.array(z.string()),
});

export function showCell({ state }: Pick<Execution, 'state'>, slot: CellSlot): z.input<typeof cellShape> {
  return {
    session_id: slot.id,
    name: slot.name,
    cell: slot.number,
    state,
    lost_because: state === 'lost' ? slot.explainLoss() : null,
    notes: [...slot.notes],
  };
}

/** Every answer of a cell says what became of the state. */
export function toCellLines(execution: Pick<Execution, 'state'>, slot: CellSlot | null): string[] {
  if (slot === null) return [];
  const { session_id, name, cell, state, lost_because } = showCell(execution, slot);
  const named = name === null ? session_id : `${session_id} (${quoteName(name)})`;
  const outcome =
    state === 'lost' ? `state lost: ${lost_because ?? 'its interpreter ended'}` : describeState(state);
  return [`Session ${named}, cell ${cell}: ${outcome}.`, ...slot.notes];
}

const describeState = (state: 'kept' | null): string => (state === null ? 'not over yet' : 'state kept');
