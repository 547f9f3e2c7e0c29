/**
 * Which cells the state of a session comes from: those of the session it was forked from, then its own, without those that
 * a restore has undone. It reads no executions.
 */

/** Cells from the first to the last number, both included. */
type CellRange = readonly [first: number, last: number];

export interface History {
  /** The session that it was forked from, at which cell of that, and what had been undone there. */
  readonly base: {
    readonly session: string;
    readonly cell: number;
    readonly undone: readonly CellRange[];
  } | null;
  readonly undone: readonly CellRange[];
}

export const emptyHistory: History = { base: null, undone: [] };

/** What a checkpoint remembers: the last cell before it, and what had been undone by then. */
export interface HistoryMark {
  readonly cell: number;
  readonly undone: readonly CellRange[];
}

/** After a restore: all cells since the mark are undone, and those that were undone since then do not matter. */
export function goBackTo(history: History, { cell, undone }: HistoryMark, lastCell: number): History {
  return { ...history, undone: lastCell > cell ? [...undone, [cell + 1, lastCell]] : undone };
}

export const isUndone = (undone: readonly CellRange[], cell: number): boolean =>
  undone.some(([first, last]) => cell >= first && cell <= last);
