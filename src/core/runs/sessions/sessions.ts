/**
 * Sessions: interpreters that keep their state from cell to cell. This door opens and finds them, ends them when they are
 * idle, closed, or lost with a server, and says what became of each. Cells are executions (`core/runs/`), interpreters
 * are the sandbox's; going back is in `going-back.ts`, running cells again in `replay.ts`.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queries } from '../../../ports/database/database.ts';
import type { Execution, Executions } from '../executions.ts';
import type { Files } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { Sandbox, SessionRequest } from '../../../ports/sandbox/sandbox.ts';
import type { Workspaces } from '../../workspaces/workspaces.ts';
import { closedEnd, removedEnd, stoppedEnd } from './ends.ts';
import { createEntrance } from './entrance.ts';
import { forkSession, goBack, interruptCell, saveCheckpoint } from './going-back.ts';
import { hasOwnPlace, type LiveSession } from './live.ts';
import { exportNotebook } from './notebook.ts';
import { outlineSession, type SessionOutline } from './outline.ts';
import { createRegistry, type NewSession } from './registry.ts';
import { listCellsInEffect, replayCells, type FilesOfCells } from './replay.ts';
import { endUserRows, listSessions, type SessionRecord } from './store.ts';
import { recoverSessions, sweepSessions } from './upkeep.ts';

export interface SessionsOptions {
  readonly database: Database;
  readonly executions: Pick<
    Executions,
    'run' | 'get' | 'listCells' | 'countCells' | 'shutdown' | 'beginWriting'
  >;
  readonly files: Pick<Files, 'add' | 'find' | 'open'>;
  readonly places: Pick<Workspaces, 'of'>;
  /** What code runs in, or why there is nothing. */
  readonly sandbox: Sandbox | string;
  /** For replays. */
  readonly filesOfCells: FilesOfCells;
  /** The variables by which programs find the proxy, where cells may have a network. */
  readonly networkEnvironment?: SessionRequest['environment'];
  /** The data folder; the logs are in `logs` below it. */
  readonly data: string;
  /** The folder that has the folders of every user. */
  readonly workspaces: string;
  /** Tells this server from others on the same database. */
  readonly server: string;
  /** Folders of the server's own that no session may work in. */
  readonly serverFolders: readonly string[];
  readonly mostOfUser: number;
  readonly idleMs: number;
  /** How long a notebook is kept, in seconds. */
  readonly keepFileSeconds: number;
  /** How long logs and rows are kept after the end. */
  readonly keepDays: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** A session as its owner sees it. */
export interface ListedSession extends SessionRecord {
  readonly checkpoints: readonly string[];
  /** Whether its interpreter is in another server. */
  readonly isElsewhere: boolean;
}

export interface ClosedSession extends SessionRecord {
  /** Whether its files stay, which those of a replay do not. */
  readonly keepsFiles: boolean;
}

export type Sessions = ReturnType<typeof createSessions>;

export type { ProvidedInput } from './replay.ts';
export type { SessionOutline } from './outline.ts';

const dayMs = 86_400_000;
const maxListed = 50;

/** Opens and ends sessions, and finds them for cells. */
export function createSessions(options: SessionsOptions) {
  const { database, server, clock } = options;
  const registry = createRegistry(options);
  const { live } = registry;
  const entrance = createEntrance(registry, clock);
  const room = { ...options, ...entrance, registry };
  return {
    enter: entrance.enter,

    start: (caller: Caller, wanted: Omit<NewSession, 'history'>): Promise<SessionRecord> =>
      registry.byOwner(caller.user, async () => (await entrance.startNew(caller, wanted)).record),

    async close(caller: Caller, idOrName: string): Promise<ClosedSession> {
      const session = await registry.demand(caller, idOrName);
      await registry.close(session, closedEnd);
      return { ...session.record, cells: session.cells, keepsFiles: !hasOwnPlace(session) };
    },

    /** Open ones, and those that ended within a day. */
    async list(caller: Caller): Promise<ListedSession[]> {
      const rows = await listSessions(database, caller.user, clock() - dayMs, maxListed);
      return rows.map((row) => {
        const end = registry.findUnwrittenEnd(row.id);
        return toListed(end === null ? row : { ...row, state: 'ended', end }, live.get(row.id), server);
      });
    },

    interrupt: async (caller: Caller, idOrName: string) =>
      interruptCell(await registry.demand(caller, idOrName)),

    checkpoint: async (caller: Caller, idOrName: string, name: string | null, signal: AbortSignal) =>
      saveCheckpoint(room, await registry.demand(caller, idOrName), name, signal),

    restore: async (caller: Caller, idOrName: string, name: string | null, signal: AbortSignal) =>
      goBack(room, await registry.demand(caller, idOrName), name, signal),

    fork: async (caller: Caller, idOrName: string, name: string | null, signal: AbortSignal) =>
      forkSession(room, caller, await registry.demand(caller, idOrName), name, signal),

    /** The executions that the state of a session comes from, in order, whether it is open or over. */
    cells: (caller: Caller, idOrName: string) => listCellsInEffect(room, caller, idOrName),

    /** What a page shows of a session, whether it is open or over. */
    outline: (caller: Caller, idOrName: string): Promise<SessionOutline> =>
      outlineSession(room, caller, idOrName),

    replay: (caller: Caller, idOrName: string, name: string | null, signal: AbortSignal) =>
      replayCells(room, caller, idOrName, name, signal),

    exportNotebook: (caller: Caller, idOrName: string, name: string | null) =>
      exportNotebook(room, caller, idOrName, name),

    openCount: (): number => live.size,

    /** To be called for every run that has ended: those of sessions get their line. */
    noteCell(execution: Execution): void {
      const { sessionId } = execution;
      if (sessionId !== null) (live.get(sessionId)?.log ?? registry.openLog(sessionId)).cell(execution);
    },

    /** Call at the start. */
    recover: (): Promise<number> => recoverSessions(options, registry),

    sweep: (): Promise<number> => sweepSessions(options, registry),

    /** Closes all that are open. */
    async [Symbol.asyncDispose](): Promise<void> {
      for (const session of live.values()) registry.finish(session, stoppedEnd);
      await registry[Symbol.asyncDispose]();
    },
  };
}

function toListed(row: SessionRecord, session: LiveSession | undefined, server: string): ListedSession {
  if (session === undefined) return { ...row, checkpoints: [], isElsewhere: row.server !== server };
  const { cells, lastUsed, checkpoints } = session;
  return { ...row, cells, lastUsed, checkpoints: [...checkpoints.keys()], isElsewhere: false };
}

/** Ends the sessions of a user who is being removed, in the transaction of the caller; their servers see it. */
export const endUserSessions = (tx: Queries, owner: string, now: number): Promise<number> =>
  endUserRows(tx, owner, removedEnd, now);
