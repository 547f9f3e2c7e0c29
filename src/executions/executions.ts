import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { WorkcrateError } from '../errors.ts';
import type { Files } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../log.ts';
import type { Places } from '../places/places.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Changes } from './comparison.ts';
import { execute, type Ended, type ExecutionRequest, type Watching } from './execute.ts';
import { createJournal } from './journal.ts';
import { executionFromRow, type Execution } from './record.ts';
import { markLost, sweepExecutions, type Retention, type SweptExecutions } from './retention.ts';
import { writeTogether } from './together.ts';
import { searchExecutions, type FoundPage, type Search } from './search.ts';

export type { Changes } from './comparison.ts';
export type { Ended, ExecutionRequest } from './execute.ts';
export type { FindCrateFiles, WantedCrateFile } from './crate-files.ts';
export type { GivenFile, OtherFile } from './given-files.ts';
export type { Execution } from './record.ts';

export interface ExecutionsOptions {
  readonly database: Database;
  readonly files: Pick<Files, 'add' | 'find' | 'maxFileSize' | 'open'>;
  readonly places: Pick<Places, 'of'>;
  /** What code runs in, or why there is nothing and what would help, as a sentence. */
  readonly sandbox: Sandbox | string;
  readonly changes: Changes;
  /** The data folder; the journals stand in `logs` below it. */
  readonly data: string;
  /** Folders of the server's own that nobody may work in: data, files, the home folder. */
  readonly serverFolders: readonly string[];
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** The most output of a run, in bytes, that is kept as files. */
  readonly outputBytes: number;
  readonly keepOutputSeconds: number;
  readonly retention: Retention;
  /** Told of every run that has ended, for the metrics. */
  readonly ended: (execution: Execution) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export type Executions = ReturnType<typeof createExecutions>;

/** Runs code for users, and remembers what they ran and what came of it. */
export function createExecutions(options: ExecutionsOptions) {
  const { database, clock, log } = options;
  const write = writeTogether(database);
  const journal = createJournal(join(options.data, 'logs'), clock);

  /** A journal that cannot be written must not cost anybody the result: the row has it too. */
  async function note(execution: Execution): Promise<void> {
    try {
      await journal.append(execution);
    } catch (error) {
      log.error('execution.not_in_journal', { id: execution.id, error });
    }
  }

  const recover = (): Promise<number> => markLost(database, clock() - longestLife(options), note);
  const room = { ...options, note, write };
  const underWay = new Map<Promise<Ended>, AbortController>();

  return {
    /** Runs code and gives its record, whatever the code did. It rejects only where nothing ran. */
    async run(caller: Caller, request: ExecutionRequest, watching: Watching): Promise<Ended> {
      const stop = new AbortController();
      const running = execute(room, caller, request, watching, stop);
      underWay.set(running, stop);
      try {
        return await running;
      } finally {
        underWay.delete(running);
      }
    },

    /** The caller's execution; `not_found` where there is none. */
    get: (caller: Caller, id: string): Promise<Execution> => executionOf(database, caller, id),

    /** The caller's executions, newest first. */
    search: (caller: Caller, search: Search): Promise<FoundPage> =>
      searchExecutions(database, caller, search),

    /** Says of runs that a crash has cut off that they are lost, and gives their number. Call at the start. */
    recover,

    /** Forgets what is older than its record is kept. */
    async sweep(): Promise<SweptExecutions> {
      // What ran on a server that never came back is found by the others.
      if (database.kind === 'postgres') await recover();
      return sweepExecutions(database, journal, clock, options.retention);
    },

    /** Cancels what is under way, and waits until that is recorded. */
    async [Symbol.asyncDispose](): Promise<void> {
      for (const stop of underWay.values()) stop.abort();
      await Promise.allSettled(underWay.keys());
      await journal[Symbol.asyncDispose]();
    },
  };
}

/** The caller's execution; `not_found` where there is none. */
export async function executionOf(database: Database, { user }: Caller, id: string): Promise<Execution> {
  const [row] = await database.query('SELECT * FROM executions WHERE id = ? AND owner = ?', id, user);
  if (row) return executionFromRow(row);
  throw new WorkcrateError(
    'not_found',
    'No execution of yours has this id. search_executions shows what there is.',
  );
}

/**
 * SQLite serves one server, so whatever ran before it started is lost. On PostgreSQL another server may be
 * running it: only what is older than any wait and any run can take is surely lost.
 */
function longestLife({ database, maxTimeoutMs }: ExecutionsOptions): number {
  return database.kind === 'sqlite' ? -1 : 12 * maxTimeoutMs + 3_600_000;
}
