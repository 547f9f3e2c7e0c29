/**
 * Checkpoints, restores and forks: the interpreter's state by the sandbox, the files of the session's own folder by
 * copies. Each waits for its turn between cells, and leaves everything as it was where it is refused.
 */
import type { Caller } from '../../identity.ts';
import type { Components } from '../../../platform/paths/paths.ts';
import type { Sandbox } from '../../../ports/sandbox/sandbox.ts';
import { badNameError, noCheckpointError, tooManyCheckpointsError } from './errors.ts';
import { goBackTo } from './history.ts';
import { demandGoingOn, hasOwnPlace, noteUsed, type Checkpoint, type LiveSession } from './live.ts';
import type { Registry } from './registry.ts';
import { removeSaved, saveFolder, stageFolder, type SavedFolder, type SaveContext } from './saved-folder.ts';
import type { SessionsOptions } from './sessions.ts';
import { noteUse, sessionNameForm, type SessionRecord } from './store.ts';

/** Of one session. Each keeps a process with all its variables. */
const maxCheckpoints = 5;

export interface Room extends SessionsOptions {
  readonly registry: Registry;
}

/** What a checkpoint, a restore or a fork did with files; null where the session has no folder of its own. */
export type MovedFiles = Pick<SavedFolder, 'files' | 'bytes' | 'leftOut'> | null;

/** SIGINT to the cell that is running; gives its number, or null where none is. */
export function interruptCell(session: LiveSession): { record: SessionRecord; cell: number | null } {
  const cell = session.current;
  if (cell !== null) session.interpreter.interrupt();
  session.log.note('interrupt', { cell });
  return { record: session.record, cell };
}

/** Does work between cells, alone. */
async function takeTurn<T>(session: LiveSession, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const turn = session.turns.take();
  try {
    await turn.wait(signal);
    demandGoingOn(session);
    return await work();
  } finally {
    turn.release();
  }
}

const toSaveContext = (room: Room, { place, record }: LiveSession): SaveContext => ({
  // There is one, or there would be no session.
  sandbox: room.sandbox as Sandbox,
  place,
  session: record.id,
});

const saveOwnFolder = (room: Room, session: LiveSession, key: string): Promise<SavedFolder> | null =>
  session.ownFolder === null ? null : saveFolder(toSaveContext(room, session), session.ownFolder, key);

export async function saveCheckpoint(
  room: Room,
  session: LiveSession,
  asked: string | null,
  signal: AbortSignal,
) {
  const name = asked ?? 'checkpoint';
  if (!sessionNameForm.test(name)) throw badNameError();
  return takeTurn(session, signal, async () => {
    const { checkpoints, interpreter, place, record } = session;
    const before = checkpoints.get(name) ?? null;
    if (before === null && checkpoints.size >= maxCheckpoints)
      throw tooManyCheckpointsError(maxCheckpoints, [...checkpoints.keys()]);
    // Where there are five processes already, the old one has to go first.
    if (before !== null && checkpoints.size >= maxCheckpoints) await dropCheckpoint(session, name, before);
    const key = `c${++session.checkpointsMade}`;
    const folder = await saveOwnFolder(room, session, key);
    try {
      await interpreter.checkpoint(key);
    } catch (error) {
      if (folder !== null) await removeSaved(place, folder);
      throw error;
    }
    if (before !== null && checkpoints.has(name)) await dropCheckpoint(session, name, before);
    const mark = { cell: session.lastNumber, undone: session.history.undone };
    noteUsed(session, room.clock);
    checkpoints.set(name, { key, mark, folder, savedAt: session.lastUsed });
    session.log.note('checkpoint', { name, cell: mark.cell, files: folder?.files, bytes: folder?.bytes });
    return { record, name, cell: mark.cell, moved: folder };
  });
}

async function dropCheckpoint(
  session: LiveSession,
  name: string,
  { key, folder }: Checkpoint,
): Promise<void> {
  session.checkpoints.delete(name);
  await session.interpreter.dropCheckpoint(key);
  if (folder !== null) await removeSaved(session.place, folder);
}

/** Without a name, to the latest checkpoint. */
export async function goBack(room: Room, session: LiveSession, asked: string | null, signal: AbortSignal) {
  return takeTurn(session, signal, async () => {
    const { checkpoints, interpreter, record, ownFolder } = session;
    const name = asked ?? [...checkpoints.keys()].at(-1) ?? '';
    const checkpoint = checkpoints.get(name);
    if (checkpoint === undefined) throw noCheckpointError(record, [...checkpoints.keys()]);
    const { key, mark, folder } = checkpoint;
    using writing = room.executions.beginWriting({ user: record.owner }, 'writes');
    await using staged = folder === null ? null : await stageFolder(toSaveContext(room, session), folder);
    await interpreter.restore(key);
    staged?.apply(ownFolder!);
    writing.end('well');
    const undone = session.lastNumber - mark.cell;
    session.history = goBackTo(session.history, mark, session.lastNumber);
    noteUsed(session, room.clock);
    await noteUse(room.database, { ...session, id: record.id });
    session.log.note('restore', { name, cell: mark.cell, files: folder?.files });
    return { record, name, cell: mark.cell, undone, moved: folder as MovedFiles };
  });
}

export async function forkSession(
  room: Room,
  caller: Caller,
  session: LiveSession,
  name: string | null,
  signal: AbortSignal,
) {
  return room.registry.byOwner(caller.user, () =>
    takeTurn(session, signal, async () => {
      const { record, lastNumber, ownFolder } = session;
      const folder = await saveOwnFolder(room, session, 'forking');
      try {
        const base = { session: record.id, cell: lastNumber, undone: session.history.undone };
        const wanted = {
          name,
          language: record.language,
          workingDir: ownFolder === null ? record.folder : null,
          history: { base, undone: [] },
          ...(hasOwnPlace(session) ? { place: session.place } : {}),
        };
        const second = await room.registry.open(caller, wanted, () => session.interpreter.fork());
        await moveIn(room, second, folder, record.folder);
        session.log.note('fork', { into: second.record.id, cell: lastNumber });
        return { record: second.record, from: record, cell: lastNumber, moved: folder as MovedFiles };
      } finally {
        if (folder !== null) await removeSaved(session.place, folder);
        noteUsed(session, room.clock);
      }
    }),
  );
}

/** Gives the second session its files, and has its interpreter go where they are. */
async function moveIn(
  room: Room,
  second: LiveSession,
  folder: SavedFolder | null,
  before: string,
): Promise<void> {
  if (folder === null) return;
  using writing = room.executions.beginWriting({ user: second.record.owner }, 'writes');
  await using staged = await stageFolder(toSaveContext(room, second), folder);
  staged.apply(second.ownFolder as Components);
  writing.end('well');
  const { interpreter, record } = second;
  const code = goFromFolder(before, record.folder);
  const run = await interpreter.run({
    code,
    stdin: '',
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    // It is none of the user's cells.
    number: 0,
  });
  for await (const _chunk of run.stdout);
  for await (const _chunk of run.stderr);
  await run.ended;
}

/** Only Python can be forked. It goes to the same folder below the other one, and leaves no name behind. */
const goFromFolder = (before: string, after: string): string =>
  `(lambda os, old, new: os.chdir(new + os.getcwd()[len(old):]) if (os.getcwd() + '/').startswith(old + '/') else None)(__import__('os'), ${JSON.stringify(before)}, ${JSON.stringify(after)})`;
