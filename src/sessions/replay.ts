/**
 * Runs the cells of a session again in a new one and tells what differs: the way back to a state that was lost with its
 * interpreter. It reads the records of executions, so it works for sessions that ended long ago.
 */
import { WorkcrateError } from '../errors.ts';
import type { Execution } from '../executions/executions.ts';
import type { Caller } from '../identity.ts';
import type { Entrance } from './entrance.ts';
import { nameSession, unknownSessionError } from './errors.ts';
import type { Room } from './going-back.ts';
import { isUndone, type History } from './history.ts';
import { findSession, type SessionRecord } from './store.ts';

export type ReplayRoom = Room & Entrance;

/** A cell that had another result the second time. */
export interface DifferentCell {
  readonly cell: number;
  readonly before: string;
  readonly after: string;
  readonly fields: readonly string[];
}

export interface Replay {
  readonly record: SessionRecord;
  readonly from: SessionRecord;
  readonly cells: number;
  readonly different: readonly DifferentCell[];
  /** What has to be known beside that. */
  readonly notes: readonly string[];
}

/** The cells of one session up to a number, but for those that were undone. */
interface SessionPart {
  readonly session: string;
  readonly upTo: number;
  readonly undone: History['undone'];
}

const maxForks = 100;
const maxReplayedCells = 1000;

/** The ids of the executions that the state of a session comes from, in order: the forked ones first, none undone. */
export async function listCellsInEffect(
  { database, executions, registry }: Room,
  caller: Caller,
  idOrName: string,
): Promise<{ readonly record: SessionRecord; readonly executionIds: readonly string[] }> {
  const found = await findSession(database, caller.user, idOrName);
  if (found === null) throw unknownSessionError();
  const open = registry.live.get(found.id);
  const record = open === undefined ? found : { ...found, cells: open.cells, history: open.history };
  const parts: string[][] = [];
  let part: SessionPart = {
    session: record.id,
    upTo: Number.MAX_SAFE_INTEGER,
    undone: record.history.undone,
  };
  for (let forks = 0; forks < maxForks; forks++) {
    const { session, upTo, undone } = part;
    const cells = await executions.listCells(caller, session);
    const inEffect = cells.filter(({ cell }) => cell <= upTo && !isUndone(undone, cell));
    parts.unshift(inEffect.map(({ id }) => id));
    const base = (await findSession(database, caller.user, session))?.history.base ?? null;
    if (base === null) break;
    part = { session: base.session, upTo: base.cell, undone: base.undone };
  }
  return { record, executionIds: parts.flat() };
}

export async function replayCells(
  room: ReplayRoom,
  caller: Caller,
  idOrName: string,
  name: string | null,
  signal: AbortSignal,
): Promise<Replay> {
  const { record: from, executionIds } = await listCellsInEffect(room, caller, idOrName);
  if (executionIds.length === 0) throw noCellsError(from);
  if (executionIds.length > maxReplayedCells) throw tooManyCellsError(executionIds.length);
  const { language, folder } = from;
  const workingDir = folder === `/workspace/${from.id}` ? null : folder;
  const { record } = await room.registry.byOwner(caller.user, () =>
    room.startNew(caller, { name, language, workingDir }),
  );
  const notes: string[] = [];
  const different: DifferentCell[] = [];
  let cells = 0;
  for (const id of executionIds) {
    const before = await room.executions.get(caller, id);
    const left = explainLeaving(before);
    if (left !== null) {
      notes.push(`Cell ${before.cell} was left out: ${left}.`);
      continue;
    }
    const after = await replayCell(room, caller, record.id, before, signal);
    cells++;
    const fields = listDifferences(before, after);
    if (fields.length > 0) different.push({ cell: before.cell!, before: id, after: after.id, fields });
    notes.push(...listUngivenInputs(before));
    if (after.state !== 'lost') continue;
    notes.push(`The new session ended with cell ${before.cell}; the cells after it were not run.`);
    break;
  }
  return { record, from, cells, different, notes };
}

/** Why a cell is not run again; null if it is. */
function explainLeaving({ reason, state }: Execution): string | null {
  if (reason === 'refused') return 'it had not been started';
  if (reason === 'running') return 'it is still running';
  if (state === 'lost' || reason === 'lost') return 'the session ended with it';
  return null;
}

async function replayCell(
  room: ReplayRoom,
  caller: Caller,
  session: string,
  before: Execution,
  signal: AbortSignal,
): Promise<Execution> {
  const slot = await room.enter(caller, { session, language: null, reset: false });
  const request = {
    tool: 'manage_session',
    language: slot.language,
    code: before.code,
    stdin: before.stdin,
    workingDir: slot.workingDir,
    timeoutMs: before.limits.timeoutMs,
    files: before.inputs.flatMap(({ fileId }) => (fileId === null ? [] : [fileId])),
    session: slot,
  };
  try {
    const { execution } = await room.executions.run(caller, request, { signal, progress: () => {} });
    return execution;
  } finally {
    slot.release();
  }
}

function listUngivenInputs({ cell, inputs }: Execution): string[] {
  const count = inputs.filter(({ fileId }) => fileId === null).length;
  if (count === 0) return [];
  return [
    `Cell ${cell} had ${count} files of crates or of the client, which were not given again: they are where they were put then.`,
  ];
}

/** What of the result is another. The name of the session's folder does not count. */
function listDifferences(before: Execution, after: Execution): string[] {
  const sameFolder = (text: string, { sessionId }: Execution): string =>
    sessionId === null ? text : text.replaceAll(sessionId, 'sess_');
  const compared = {
    end_reason: ({ reason }: Execution) => reason,
    exit_code: ({ exitCode }: Execution) => exitCode,
    stdout: (run: Execution) => sameFolder(run.stdout, run),
    stderr: (run: Execution) => sameFolder(run.stderr, run),
    results: ({ results }: Execution) => JSON.stringify(results.map(toComparable)),
  };
  return Object.entries(compared).flatMap(([field, read]) => (read(before) === read(after) ? [] : [field]));
}

/** Ids of files differ every time. */
const toComparable = ({ text, parts }: Execution['results'][number]) => ({
  text,
  parts: parts.map(({ mime, size }) => ({ mime, size })),
});

function noCellsError(session: SessionRecord): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    `The session ${nameSession(session)} has no recorded cells that could be run again.`,
  );
}

function tooManyCellsError(count: number): WorkcrateError {
  return new WorkcrateError(
    'too_large',
    `The session has ${count} cells; at most ${maxReplayedCells} are run again in one call.`,
  );
}
