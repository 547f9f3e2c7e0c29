/**
 * Runs the cells of a session again in a new one, in folders of its own, and tells what differs: the way back to a state
 * that was lost with its interpreter. It reads the records of executions, so it works for sessions that ended long ago.
 * What is compared is in `compare-cells.ts`.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Execution } from '../executions.ts';
import type { Caller } from '../../identity.ts';
import type { CellRequest, Sandbox, Workspace } from '../../../ports/sandbox/sandbox.ts';
import { quoteName } from '../../../platform/text/text.ts';
import { compareCells, type MadeFiles } from './compare-cells.ts';
import type { Entrance } from './entrance.ts';
import { nameSession, unknownSessionError } from './errors.ts';
import type { Room } from './going-back.ts';
import { isUndone, type History } from './history.ts';
import type { LiveSession } from './live.ts';
import { findSession, type SessionRecord } from './store.ts';

export type ReplayRoom = Room & Entrance;

/** A cell that had another result the second time. */
export interface DifferentCell {
  readonly cell: number;
  readonly before: string;
  readonly after: string;
  readonly fields: readonly string[];
  /** Files that it made otherwise, as far as they have hashes. */
  readonly files: readonly string[];
}

/** A file as a cell had it the first time. */
export interface ProvidedInput {
  /** Where it has to be, inside. */
  readonly path: string;
  /** Where it was. */
  readonly from: string;
  readonly size: number;
  readonly sha256: string;
  readonly madeBy: string | null;
}

/** What is known of the files of a cell, and how it gets them again. */
export interface FilesOfCells extends MadeFiles {
  /** Files that it read beside its inputs. */
  listRead(execution: Execution): readonly ReadFile[];
  /** Puts a file into the folders of a replay: null, or why there are no bytes of it, as a clause. */
  provide(
    caller: Caller,
    place: Workspace,
    input: ProvidedInput,
    signal: AbortSignal,
  ): Promise<string | null>;
}

interface ReadFile extends Pick<ProvidedInput, 'path' | 'size' | 'madeBy'> {
  /** Null where nobody hashed it. */
  readonly sha256: string | null;
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
  // In folders of its own: what the cells wrote the first time is left alone.
  const live = await room.registry.byOwner(caller.user, () =>
    room.startNew(caller, { name, language, workingDir: null, replayedFolder: folder }),
  );
  const { record } = live;
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
    const given = await provideInputs(room, caller, live, before, signal);
    notes.push(...given.notes);
    // Tracebacks name the cell, so it keeps its number.
    live.lastNumber = Math.max(live.lastNumber, before.cell! - 1);
    const after = await replayCell(room, caller, record.id, { before, files: given.files }, signal);
    cells++;
    const compared = compareCells(room.filesOfCells, before, after, live.place);
    notes.push(...compared.notes);
    if (compared.fields.length > 0)
      different.push({
        cell: before.cell!,
        before: id,
        after: after.id,
        fields: compared.fields,
        files: compared.files,
      });
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
  { before, files }: { readonly before: Execution; readonly files: readonly string[] },
  signal: AbortSignal,
): Promise<Execution> {
  const taken = await room.enter(caller, { session, language: null, reset: false });
  const { startedAt } = before;
  // With the date of the first time, so that files that have a date in them can be the same.
  const slot = { ...taken, run: (cell: CellRequest) => taken.run({ ...cell, startedAt }) };
  const request = {
    tool: 'manage_session',
    language: slot.language,
    code: before.code,
    stdin: before.stdin,
    workingDir: slot.workingDir,
    timeoutMs: before.limits.timeoutMs,
    files,
    session: slot,
  };
  try {
    const { execution } = await room.executions.run(caller, request, { signal, progress: () => {} });
    return execution;
  } finally {
    taken.release();
  }
}

interface GivenAgain {
  /** Stored files, by their ids. */
  readonly files: readonly string[];
  readonly notes: readonly string[];
}

/** Gives a cell what it was given, found or opened the first time, by its hash, unless a cell before made it now. */
async function provideInputs(
  room: ReplayRoom,
  caller: Caller,
  { place, record }: LiveSession,
  before: Execution,
  signal: AbortSignal,
): Promise<GivenAgain> {
  const files: string[] = [];
  const notes: string[] = [];
  const provide = async (from: string, { size, sha256, madeBy }: Omit<ReadFile, 'path'>): Promise<void> => {
    const path = moveToFolder(from, before.workingDir, record.folder);
    const why = await provideFile(room, caller, place, { path, from, size, sha256, madeBy }, signal);
    if (why !== null) notes.push(`Cell ${before.cell} had ${quoteName(from)}, which it has not now: ${why}.`);
  };
  for (const { fileId, name, size, sha256 } of before.inputs) {
    if (fileId !== null && (await room.files.find(caller, fileId)) !== null) files.push(fileId);
    else await provide(toPathIn(before.workingDir, name), { size, sha256, madeBy: null });
  }
  const given = new Set(before.inputs.map(({ name }) => toPathIn(before.workingDir, name)));
  for (const input of room.filesOfCells.listRead(before))
    if (!given.has(input.path)) await provide(input.path, input);
  return { files, notes };
}

async function provideFile(
  { sandbox, filesOfCells }: ReplayRoom,
  caller: Caller,
  place: Workspace,
  { sha256, ...input }: Omit<ProvidedInput, 'sha256'> & { readonly sha256: string | null },
  signal: AbortSignal,
): Promise<string | null> {
  if (sha256 === null) return 'it was not hashed then';
  // There is one, or there would be no session.
  using _claim = await (sandbox as Sandbox).claimDisk(place, input.size);
  return await filesOfCells.provide(caller, place, { ...input, sha256 }, signal);
}

const toPathIn = (folder: string, name: string): string => `${folder.replace(/\/+$/, '')}/${name}`;

/** The cells of a session that was forked worked in another folder. */
const moveToFolder = (path: string, from: string, to: string): string =>
  path.startsWith(`${from}/`) ? toPathIn(to, path.slice(from.length + 1)) : path;

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
