/**
 * The sessions whose interpreters are in this process: opens them, finds them, and ends them. Only here is one added or
 * taken out. When that is due is decided in `sessions.ts`.
 */
import { dirname, join } from 'node:path';
import { createKeyedMutex, type KeyedMutex } from '../../../platform/concurrency/mutex.ts';
import { asWorkcrateError, isWorkcrateError } from '../../../platform/errors.ts';
import { demandLanguage } from '../run-program.ts';
import { ensureFolder, makeFolderFor, parseWorkingDir, removeIfEmpty, toInsidePath } from '../working-dir.ts';
import type { Caller } from '../../identity.ts';
import { parseName, removeTree, type Components } from '../../../platform/paths/paths.ts';
import {
  getReplaysFolder,
  type Language,
  type RunEnd,
  type Sandbox,
  type SandboxSession,
  type SessionRequest,
  type Workspace,
} from '../../../ports/sandbox/sandbox.ts';
import { createJobEnds } from '../../jobs/ends.ts';
import { createJobs, type LostTerms } from '../../jobs/jobs.ts';
import { makeWorkspaceBeside } from '../../workspaces/workspaces.ts';
import { forsakenEnd, removedEnd, restartedEnd, toSessionEnd, type SessionEnd } from './ends.ts';
import {
  badNameError,
  elsewhereError,
  endNotRecordedError,
  nameTakenError,
  sessionEndedError,
  tooManySessionsError,
  unknownSessionError,
} from './errors.ts';
import type { History } from './history.ts';
import { createLive, type LiveSession, type NewLive } from './live.ts';
import { openSessionLog, type SessionLog } from './log.ts';
import { removeCopies } from './saved-folder.ts';
import type { SessionsOptions } from './sessions.ts';
import { lookAfterSessions } from './upkeep.ts';
import {
  deleteRow,
  endRow,
  findSession,
  insertSession,
  newSessionId,
  noteUse,
  sessionFromRow,
  sessionJobs,
  toLostEnd,
  sessionIdForm,
  sessionNameForm,
  type SessionRecord,
} from './store.ts';

export interface NewSession {
  readonly name: string | null;
  readonly language: Language;
  /** As the caller gave it; null is a folder of the session's own. */
  readonly workingDir: string | null;
  readonly history: History;
  /** For a replay: the folder as the replayed session had it, in folders that nobody else uses. */
  readonly replayedFolder?: string;
  /** The folders of the session that it is a fork of, where those are its own. */
  readonly place?: Workspace;
}

/** Starts the interpreter of a session that has its row and its folder. */
export type StartInterpreter = (sandbox: Sandbox, request: SessionRequest) => Promise<SandboxSession>;

/** The end of a session that its row has not yet. */
interface WaitingEnd {
  readonly row: Pick<SessionRecord, 'id' | 'cells' | 'lastUsed'>;
  readonly end: SessionEnd;
  readonly endedAt: number;
}

export interface Registry extends AsyncDisposable {
  readonly live: ReadonlyMap<string, LiveSession>;
  /** Work on the sessions of one user, one piece after the other. */
  readonly byOwner: KeyedMutex;
  openLog(id: string): SessionLog;
  endLost(): Promise<number>;
  /** Rejects with `quota_exceeded` where the user has as many as may be. */
  open(caller: Caller, wanted: NewSession, start: StartInterpreter): Promise<LiveSession>;
  /** From now on nobody can use it; its interpreter is ended. */
  finish(session: LiveSession, end: SessionEnd): void;
  /** The same, and waits until all of it is gone. Rejects where that is not recorded yet. */
  close(session: LiveSession, end: SessionEnd): Promise<void>;
  find(caller: Caller, idOrName: string): LiveSession | null;
  /** Why a session is over whose row does not say so yet. */
  findUnwrittenEnd(id: string): SessionEnd | null;
  /** The session; rejects where it is over, elsewhere, another's or made up. */
  demand(caller: Caller, idOrName: string): Promise<LiveSession>;
  /** What is known of a session that is not in this process; null where there is nothing. */
  findRecord(caller: Caller, idOrName: string): Promise<SessionRecord | null>;
}

export function createRegistry(options: SessionsOptions): Registry {
  const { database, server, clock, log, networkEnvironment: environment = null } = options;
  const openLog = createLogOpener(options);
  const held = createHeldSessions(options, openLog);
  const { live, finish } = held;
  /** The row before the interpreter: whoever gets no slot starts none. */
  async function open(caller: Caller, wanted: NewSession, start: StartInterpreter): Promise<LiveSession> {
    const { name, language, history } = wanted;
    if (name !== null) demandName(name);
    options.executions.shutdown.demandGoingOn();
    const sandbox = demandLanguage(options.sandbox, language);
    const id = newSessionId();
    const { place, ownFolder, folder } = await makePlace(options, caller, wanted, id);
    const owner = caller.user;
    const record = toFreshRecord({ id, owner, name, language, folder, history, server }, clock());
    held.opening.add(id);
    try {
      await takeRow(options, record);
      if (ownFolder !== null) makeFolderFor(place.workspace, ownFolder, place.uid);
      const request = { id, user: owner, place, language, workingDir: folder, environment };
      const interpreter = await start(sandbox, request);
      return welcome({ record, place, ownFolder, interpreter, log: openLog(id) });
    } catch (error) {
      await deleteRow(database, id);
      if (ownFolder !== null) await removeIfEmpty(place.workspace, ownFolder);
      await removeOwnPlace(place, live);
      throw asWorkcrateError(error);
    } finally {
      held.opening.delete(id);
    }
  }

  function welcome(given: Omit<NewLive, 'cancel' | 'lose'>): LiveSession {
    const session = held.hold(given);
    const { id, owner: user, name, language, folder } = given.record;
    session.log.note('opened', { user, name, language, folder });
    log.info('session.opened', { id, user, language });
    // A cell that ended it says why; where there was none, the end of the interpreter does.
    void awaitInterpreterEnd(options, session).then((end) => finish(session, toSessionEnd(end)));
    return session;
  }

  function find({ user }: Caller, idOrName: string): LiveSession | null {
    const found = sessionIdForm.test(idOrName)
      ? live.get(idOrName)
      : live.values().find(({ record }) => record.owner === user && record.name === idOrName);
    return found !== undefined && found.record.owner === user ? found : null;
  }

  async function findRecord({ user }: Caller, idOrName: string): Promise<SessionRecord | null> {
    const found = await findSession(database, user, idOrName);
    if (found === null) return null;
    // Its end may be about to be written.
    await held.settled(found.id);
    if (found.state !== 'open') return found;
    if (found.server !== server) {
      if ((await held.endLost({ id: found.id })) === 0) throw elsewhereError(found);
      return findSession(database, user, found.id);
    }
    const end = held.findUnwrittenEnd(found.id) ?? forsakenEnd;
    const isStuck = await endRow(database, found, end, clock());
    return isStuck ? { ...found, state: 'ended', end } : findSession(database, user, found.id);
  }

  return {
    live,
    endLost: () => held.endLost(),
    byOwner: createKeyedMutex(),
    openLog,
    open,
    finish,
    async close(session, end) {
      finish(session, end);
      const failure = await held.settled(session.record.id);
      if (failure !== null) throw endNotRecordedError(session.record, failure);
    },
    findUnwrittenEnd: held.findUnwrittenEnd,
    find,
    async demand(caller, idOrName) {
      const session = find(caller, idOrName);
      if (session !== null) return session;
      const found = await findRecord(caller, idOrName);
      throw found === null ? unknownSessionError() : sessionEndedError(found, found.end!);
    },
    findRecord,
    [Symbol.asyncDispose]: held[Symbol.asyncDispose],
  };
}

/** Those that this process holds, with their ends until these are written. */
function createHeldSessions(options: SessionsOptions, openLog: Registry['openLog']) {
  const { database, server, clock, log } = options;
  const opening = new Set<string>();
  /** Each gives why the end could not be recorded, or null. */
  const ending = new Map<string, Promise<unknown>>();
  const ends = createJobEnds<WaitingEnd>({
    write: async (_, { row, end, endedAt }) => void (await endRow(database, row, end, endedAt)),
    told: {
      notWritten: (id, error) => log.error('session.end_not_written', { id, error }),
      stillNotWritten: (id, error) => log.debug('session.end_not_written', { id, error }),
      written: (id) => log.info('session.end_written', { id }),
    },
  });

  const jobs = createJobs<LiveSession>({
    database,
    server,
    table: sessionJobs,
    // By a timer, since nobody may ever call again.
    lookMs: Math.min(15_000, Math.max(100, options.idleMs / 4)),
    look: (held) => lookAfterSessions(options, held, finish),
    lookFailed: (error) => log.error('session.not_reaped', { error }),
    isKnown: (id) => opening.has(id) || ending.has(id) || ends.find(id) !== null,
  });
  /** Its user was removed, or this server was silent for so long that another gave it up. */
  async function lose(session: LiveSession): Promise<void> {
    const { id, owner } = session.record;
    const row = await findSession(database, owner, id).catch(() => null);
    finish(session, row?.end ?? removedEnd);
  }

  function finish(session: LiveSession, end: SessionEnd): void {
    if (session.end !== null) return;
    session.end = end;
    const { id, owner: user } = session.record;
    jobs.release(id);
    session.log.note('ended', { ...end, cells: session.cells });
    log.info('session.ended', { id, user, reason: end.reason });
    const { cells, lastUsed } = session;
    // The row first: its slot is free from then on. The interpreter is closed whatever becomes of the row.
    const recording = ends.end(id, { row: { id, cells, lastUsed }, end, endedAt: clock() });
    const work = settle(session, jobs.all)
      .catch((error: unknown) => log.error('session.not_settled', { id, error }))
      .then(() => recording)
      .finally(() => ending.delete(id));
    ending.set(id, work);
  }

  /** Says of sessions that nobody holds any more that they are lost, and gives the number. */
  const endLost = (which: Pick<LostTerms, 'id'> = {}): Promise<number> =>
    jobs.claimLost((row) => noteLost(sessionFromRow(row)), {
      ...which,
      set: toLostEnd(server, restartedEnd, forsakenEnd, clock()),
    });

  /** Its row was written now and then only; each cell has one of its own. */
  async function noteLost(record: SessionRecord): Promise<void> {
    const cells = Math.max(record.cells, await options.executions.countCells(record.id));
    await noteUse(database, { ...record, cells });
    if (record.end?.reason === restartedEnd.reason) openLog(record.id).note('ended', { ...restartedEnd });
  }

  return {
    live: jobs.all,
    opening,
    finish,
    endLost,

    hold(given: Omit<NewLive, 'cancel' | 'lose'>): LiveSession {
      const session: LiveSession = createLive({
        ...given,
        cancel: () => finish(session, removedEnd),
        lose: () => void lose(session),
      });
      jobs.hold(session.record.id, session);
      return session;
    },

    /** Resolves when nothing of it is left, with why its end could not be recorded, or null. */
    settled: async (id: string): Promise<unknown> => (await ending.get(id)) ?? null,

    findUnwrittenEnd: (id: string): SessionEnd | null => ends.find(id)?.end ?? null,

    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(ending.values());
      await jobs[Symbol.asyncDispose]();
      await ends[Symbol.asyncDispose]();
    },
  };
}

async function settle(session: LiveSession, live: ReadonlyMap<string, LiveSession>): Promise<void> {
  const { record, interpreter, running, place, ownFolder } = session;
  await interpreter.close();
  await running;
  await removeCopies(place, record.id);
  if (ownFolder !== null) await removeIfEmpty(place.workspace, ownFolder);
  await removeOwnPlace(place, live);
}

/** A folder that was a session's own, and that of the session that it is replayed in. */
const ownFolderForm = /^\/workspace\/(sess_[0-9a-f]{12})$/;

interface SessionPlace {
  readonly place: Workspace;
  readonly ownFolder: Components | null;
  /** As seen inside. */
  readonly folder: string;
}

/** A session that is replayed has the folder that it had, in folders that are this session's own. */
async function makePlace(
  options: SessionsOptions,
  caller: Caller,
  { workingDir, replayedFolder, place: given }: NewSession,
  id: string,
): Promise<SessionPlace> {
  const home = await options.places.of(caller.user);
  const place = replayedFolder === undefined ? (given ?? home) : makeReplayPlace(home, id);
  const ownName = replayedFolder === undefined ? id : (ownFolderForm.exec(replayedFolder)?.[1] ?? null);
  if (workingDir === null && ownName !== null)
    return { place, ownFolder: parseName(ownName), folder: `/workspace/${ownName}` };
  const folder = prepareFolder(options, place, caller, replayedFolder ?? workingDir!);
  return { place, ownFolder: null, folder };
}

/** A fork is in the same folders, which go with the last of them. */
async function removeOwnPlace(place: Workspace, live: ReadonlyMap<string, LiveSession>): Promise<void> {
  const isUsed = [...live.values()].some((session) => session.place === place);
  if (place.beside !== undefined && !isUsed) await removeTree(dirname(place.workspace));
}

/** Named after the session, so that those of sessions that are over are known. */
const makeReplayPlace = (home: Workspace, id: string): Workspace =>
  makeWorkspaceBeside(home, join(getReplaysFolder(home), id));

const createLogOpener = ({ data, clock, log }: SessionsOptions): ((id: string) => SessionLog) => {
  const failed = (error: unknown): void => log.error('session.not_in_log', { error });
  return (id) => openSessionLog(id, { folder: join(data, 'logs'), clock, failed });
};

/** What it wrote between cells goes if it was stopped for the disk space that its user took. */
async function awaitInterpreterEnd({ executions }: SessionsOptions, session: LiveSession): Promise<RunEnd> {
  const { interpreter, record, place } = session;
  using writing = executions.beginWriting({ user: record.owner }, 'may write');
  const end = await interpreter.ended;
  await session.running;
  await writing.removeIfStopped(place, end);
  return end;
}

type Begun = Omit<SessionRecord, 'state' | 'end' | 'createdAt' | 'lastUsed' | 'endedAt' | 'cells'>;

const toFreshRecord = (begun: Begun, now: number): SessionRecord => ({
  ...begun,
  state: 'open',
  end: null,
  createdAt: now,
  lastUsed: now,
  endedAt: null,
  cells: 0,
});

async function takeRow({ database, mostOfUser }: SessionsOptions, record: SessionRecord): Promise<void> {
  const inserted = await insertSession(database, record, mostOfUser);
  if (inserted === 'full') throw tooManySessionsError(mostOfUser);
  if (inserted === 'named') throw nameTakenError(record.name!);
}

/** The folder as seen inside. A session outlives its calls, so /tmp and ~ of one run are no place for it to begin in. */
function prepareFolder(
  { serverFolders, log }: SessionsOptions,
  place: Workspace,
  { user }: Caller,
  workingDir: string,
): string {
  try {
    const folder = parseWorkingDir(workingDir, serverFolders);
    ensureFolder(place, folder);
    return toInsidePath(folder);
  } catch (error) {
    if (isWorkcrateError(error, 'path_refused'))
      log.warn('security.path_refused', {
        user,
        path: workingDir.slice(0, 4096),
        kind: error.details['kind'],
      });
    throw error;
  }
}

function demandName(name: string): void {
  if (!sessionNameForm.test(name) || name.startsWith('sess_')) throw badNameError();
}
