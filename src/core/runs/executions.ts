/**
 * Runs code for users, and remembers what they ran and what came of it. It puts the parts of this room together and
 * owns their shutdown. It does not isolate code (`ports/sandbox/`), and the way of a single run is in `execute.ts`.
 */
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { countUpTo, type Database, type Row } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Files } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Sandbox } from '../../ports/sandbox/sandbox.ts';
import { readTrustedTime } from '../../ports/database/trusted-clock.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import {
  executeRequest,
  type EndedExecution,
  type ExecutionRequest,
  type ExecuteContext,
  type RunControl,
} from './execute.ts';
import type { Execution } from './fields.ts';
import type { Changes } from './difference.ts';
import { judgeRun, type JudgedRequest, type RunExtension } from './extension.ts';
import {
  createJournal,
  type Journal,
  appendRows,
  listLastEnded,
  restoreLines,
  type RunWithoutLine,
} from './journal.ts';
import { createFollower } from './follow.ts';
import { createLiveRuns } from './live-runs.ts';
import { createMadeSpace } from './made-space.ts';
import type { LiveRun } from './live.ts';
import { createEndWriter, endLostRuns } from './lost.ts';
import {
  findExecutions,
  type FoundPage,
  type ExecutionSearch,
  sweepExecutions,
  createBatchWriter,
  type ForgottenRun,
  type Retention,
  type SweptExecutions,
} from './store.ts';
import type { RunRecord } from './record.ts';
import { createRecordQuota } from './record-quota.ts';
import type { OutputBounds } from './output.ts';

export type { FindCrateFiles, WantedCrateFile } from './client-and-crate-files.ts';
export { executionIdForm, type RunningRun } from './store.ts';
export type { RunRecord } from './record.ts';
export type { EndedExecution, ExecutionRequest } from './execute.ts';
export type { Changes } from './difference.ts';
export type { Execution } from './fields.ts';
export { requestCancel } from './live-runs.ts';
export type { LiveRun } from './live.ts';
export { type OutputPiece, type OutputPieces, type OutputBounds } from './output.ts';
export type { InputFileRecord, OtherFile } from './input-files.ts';
export { writeNotebook } from './notebook.ts';
export { getExtension, maxResults, parseResult } from './results.ts';

export interface ExecutionsOptions {
  readonly database: Database;
  readonly files: Pick<Files, 'add' | 'find' | 'maxFileSize' | 'open' | 'remove'>;
  readonly places: Pick<Workspaces, 'of' | 'find'>;
  /** What code runs in, or why there is nothing and what would help, as a sentence. */
  readonly sandbox: Sandbox | string;
  readonly changes: Changes;
  /** What features add to runs, in the order in which they are asked. */
  readonly extensions: readonly RunExtension[];
  /** The record, with what they add to it. */
  readonly record: RunRecord;
  /** How long a person may take to answer a question of a run. */
  readonly askMs?: number;
  /** The data folder; the journal is in `logs` below it. */
  readonly data: string;
  /** Tells this server from others on the same database. */
  readonly server: string;
  /** Folders of the server's own that nobody may work in: data, files, the home folder. */
  readonly serverFolders: readonly string[];
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** The most output of a run, in bytes, that is kept as files. */
  readonly outputBytes: number;
  readonly keepOutputSeconds: number;
  readonly retention: Retention;
  /** Bytes of records that are kept for a user; the oldest go first. */
  readonly recordBytes: number;
  /** How long a run whose call lost its connection goes on if nobody of its user asks for it. */
  readonly orphanGraceMs: number;
  /** How much of each output is shown and recorded. */
  readonly outputBounds: OutputBounds;
  /** Told of every run that has ended, for the metrics. */
  readonly ended: (execution: Execution) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export type Executions = ReturnType<typeof createExecutions>;

/** Runs code for users, and remembers what they ran and what came of it. */
export function createExecutions(options: ExecutionsOptions) {
  const { database, server, extensions, record, clock, log } = options;
  const write = createBatchWriter(database);
  const logs = join(options.data, 'logs');
  const journal = createJournal(record, logs, clock, (error) =>
    log.error('execution.journal_not_synced', { error }),
  );
  const { note, writeOwed } = createLineWriter(database, record, journal, log);
  const ends = createEndWriter({ database, record, server, write, note, log });
  const { forgetting, ended, settle } = createRetention(options);
  const live = createLiveRuns({ ...options, write, isKnown: ends.isWaiting });
  const made = createMadeSpace(options);
  const room: ExecuteContext = { ...options, ended, ends, write, made };

  const begin = (caller: Caller, request: ExecutionRequest, control: RunControl): Promise<LiveRun> =>
    live.begin(caller, control, (underWay) => executeRequest(room, caller, request, underWay));

  /** Whoever asks for a run that lost its call keeps it; one whose server is silent is found lost. */
  async function get(caller: Caller, id: string): Promise<Execution> {
    const execution = await getExecution(database, record, caller, id);
    if (execution.reason !== 'running') return execution;
    const lost = await endLostRuns(record, live, clock(), note, { id });
    if (lost > 0) return getExecution(database, record, caller, id);
    await askFor(caller, [execution]);
    return execution;
  }

  /** What cannot be written must not cost anybody what can be read. */
  async function askFor(caller: Caller, found: readonly Pick<Execution, 'id' | 'reason'>[]): Promise<void> {
    const ids = found.filter(({ reason }) => reason === 'running').map(({ id }) => id);
    try {
      await live.askFor(
        caller,
        ids.filter((id) => !ends.isWaiting(id)),
      );
    } catch (error) {
      log.warn('execution.not_adopted', { ids: ids.slice(0, 10), error });
    }
  }

  async function search(caller: Caller, wanted: ExecutionSearch): Promise<FoundPage> {
    const page = await findExecutions(database, caller, wanted);
    await askFor(caller, page.executions);
    return page;
  }

  const { follow, cancel } = createFollower({ database, live, get });

  /** What this server was running when it ended is lost; there is no other unless the database is shared. */
  async function recover(): Promise<number> {
    const torn = await journal.removeTorn();
    if (torn > 0) log.warn('start.torn_lines_removed', { files: torn });
    const count = await endLostRuns(record, live, clock(), note, { isAlone: !database.isShared });
    const restored = await restoreLines(database, record, server, journal, logs);
    if (restored > 0) log.warn('start.lines_restored', { count: restored });
    return count;
  }

  /** Rows that should have got their end long ago, and did not: the database failed, or their server never came back. */
  async function mend(): Promise<void> {
    const count = await endLostRuns(record, live, clock(), note);
    if (count > 0) log.warn('execution.found_lost', { count });
  }

  return {
    /**
     * Begins a run and resolves once it is recorded, while it waits in the queue or runs. It needs nobody who waits for
     * it: only the signal of `control` and `cancel` end it before its time. Rejects where nothing was recorded.
     */
    begin,

    /** Says that files are made in the folders of a user that no run makes. */
    beginWriting: ({ user }: Pick<Caller, 'user'>, does: 'writes' | 'may write') => made.begin(user, does),

    record,

    /** Counts what is under way, and refuses new runs. */
    shutdown: live.shutdown,

    /** Judges code before anything is made ready for it. A run of it has to be told, as `judged`. */
    judge: (caller: Caller, asked: JudgedRequest) => judgeRun(extensions, caller, asked, null),

    /** The caller's run, if it is under way on this server. */
    findLive: live.find,

    /** Calls when a run of the caller begins or ends. */
    watch: live.watch,

    /** Runs code and gives its record, whatever the code did. It rejects only where nothing ran. */
    async run(caller: Caller, request: ExecutionRequest, control: RunControl): Promise<EndedExecution> {
      return (await begin(caller, request, control)).ended;
    },

    /** The caller's execution; `not_found` where there is none. */
    get,

    /** The cells of a session of the caller that are recorded, in order. */
    listCells: (caller: Caller, sessionId: string) => listCells(database, caller, sessionId),

    /** How many cells of a session are recorded as given to its interpreter. */
    countCells: (sessionId: string) => countCells(database, sessionId),

    /** The caller's executions, newest first. */
    search,

    /** The caller's execution once it has ended, or after a time; and what it printed, from an offset on. */
    follow,

    /** Ends the caller's execution, on whichever server it runs. */
    cancel,

    /**
     * Says of runs that a crash has cut off that they are lost, and gives their number; writes lines again that are
     * missing. Call at the start.
     */
    recover,

    /** Runs of this server that ended last, for those who note them elsewhere. */
    lastEnded: (): Promise<RunWithoutLine[]> => listLastEnded(database, server),

    /** Forgets what is older than its record is kept. */
    async sweep(): Promise<SweptExecutions> {
      await mend();
      await writeOwed();
      for (const extension of extensions) await extension.sweep?.();
      const now = await readTrustedTime(database, clock());
      return sweepExecutions(database, journal, now, options.retention, forgetting);
    },

    /** Cancels what is under way, and waits until that is recorded. */
    async [Symbol.asyncDispose](): Promise<void> {
      await live.endAll('stopped_server');
      await ends[Symbol.asyncDispose]();
      await settle();
      await journal[Symbol.asyncDispose]();
    },
  };
}

/** Writes the line of each run that has ended, and later those that could not be written, of their rows. */
function createLineWriter(database: Database, record: RunRecord, journal: Journal, log: Log) {
  const owed = new Set<string>();
  return {
    /** A journal that cannot be written must not cost anybody the result: the row has it too. */
    async note(execution: Execution): Promise<void> {
      try {
        await journal.append(execution);
      } catch (error) {
        log.error('execution.not_in_journal', { id: execution.id, error });
        if (owed.size < maxOwedLines) owed.add(execution.id);
      }
    },
    async writeOwed(): Promise<void> {
      for (const id of owed) await appendRows(database, record, journal, [id]).then(() => owed.delete(id));
    },
  };
}

/** What stays of runs and their records, and what goes. */
function createRetention(options: ExecutionsOptions) {
  const { database, extensions, record, recordBytes: mostBytes, log } = options;
  const forget = async (gone: readonly ForgottenRun[]): Promise<void> => {
    for (const extension of extensions) await extension.forget?.(gone);
  };
  const share = createRecordQuota({ database, record, mostBytes, forget, log });
  return {
    forgetting: { columns: record.forgottenColumns, forget },
    ended(execution: Execution): void {
      share.add(execution);
      for (const extension of extensions) extension.noteEnded?.(execution);
      options.ended(execution);
    },
    settle: (): Promise<void> => share.settled(),
  };
}

/** The caller's execution; `not_found` where there is none. */
export async function getExecution(
  database: Database,
  record: RunRecord,
  { user }: Caller,
  id: string,
): Promise<Execution> {
  const [row] = await database.query('SELECT * FROM executions WHERE id = ? AND owner = ?', id, user);
  if (row) return record.fromRow(row);
  throw new WorkcrateError(
    'not_found',
    'No execution of yours has this id. search_executions shows what there is.',
  );
}

export interface RecordedCell {
  /** Of the execution. */
  readonly id: string;
  readonly cell: number;
}

const mostListedCells = 10_000;

async function listCells(database: Database, { user }: Caller, sessionId: string): Promise<RecordedCell[]> {
  return database.query<RecordedCell & Row>(
    `SELECT id, cell FROM executions WHERE session_id = ? AND owner = ? ORDER BY cell, id LIMIT ${mostListedCells}`,
    sessionId,
    user,
  );
}

async function countCells(database: Database, sessionId: string): Promise<number> {
  const select = "SELECT id FROM executions WHERE session_id = ? AND reason <> 'refused'";
  return countUpTo(mostListedCells, database, select, sessionId);
}

const maxOwedLines = 10_000;
