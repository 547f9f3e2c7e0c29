import { BoundedMap } from '../concurrency/bounded-map.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { Execution } from './fields.ts';
import { executionFromRow, mostSearchedCode, updateEnded } from './record.ts';
import type { writeTogether } from './together.ts';

/** Ends that wait to be written, each with its output as shown. Beyond them the oldest are given up: see below. */
const mostWaiting = 1000;
const firstPauseMs = 1000;
const longestPauseMs = 60_000;

export interface EndsOptions {
  readonly database: Database;
  readonly write: ReturnType<typeof writeTogether>;
  /** Told of each end once it is in its row: it writes the line. */
  readonly note: (execution: Execution) => Promise<void>;
  readonly log: Log;
}

/**
 * Writes the ends of runs to their rows, and then their lines. Where the database fails, an end waits and is tried
 * again until it is written: the run is over, and its caller has its result already. What is given up, or still waits
 * when the server ends, stays `running` until it is found lost.
 */
export function createEnds({ database, write, note, log }: EndsOptions) {
  const waiting = new BoundedMap<string, Execution>({ mostEntries: mostWaiting });
  let pauseMs = firstPauseMs;
  let timer: NodeJS.Timeout | null = null;
  let trying: Promise<void> | null = null;

  /** The row first: a line without one could be contradicted by what is found at the next start. */
  async function record(execution: Execution): Promise<void> {
    let isEnded = false;
    await write(async (queries) => void (isEnded = await updateEnded(queries, execution)));
    if (isEnded) await note(execution);
    else log.warn('execution.end_refused', { id: execution.id, reason: execution.reason });
  }

  function keep(execution: Execution): void {
    // The row has the rest of them.
    const code = execution.code.slice(0, mostSearchedCode);
    waiting.set(execution.id, { ...execution, code, stdin: '' });
    tryLater();
  }

  function tryLater(): void {
    timer ??= setTimeout(() => {
      timer = null;
      void tryAgain();
    }, pauseMs).unref();
  }

  function tryAgain(): Promise<void> {
    trying ??= writeWaiting().finally(() => (trying = null));
    return trying;
  }

  async function writeWaiting(): Promise<void> {
    for (const execution of waiting.values())
      try {
        await recordKept(execution);
        waiting.delete(execution.id);
        log.info('execution.end_written', { id: execution.id });
      } catch (error) {
        log.debug('execution.end_not_written', { id: execution.id, error });
        pauseMs = Math.min(2 * pauseMs, longestPauseMs);
        return tryLater();
      }
    pauseMs = firstPauseMs;
  }

  /** Its line is made of the row, which has all of its code. */
  async function recordKept(execution: Execution): Promise<void> {
    const isEnded = await updateEnded(database, execution);
    if (!isEnded) return log.warn('execution.end_refused', { id: execution.id, reason: execution.reason });
    const [row] = await database.query('SELECT * FROM executions WHERE id = ?', execution.id);
    if (row) await note(executionFromRow(row));
  }

  return {
    /** Gives whether the row has the end now. Never rejects: what cannot be written waits. */
    async end(execution: Execution): Promise<boolean> {
      try {
        await record(execution);
        return true;
      } catch (error) {
        log.error('execution.end_not_written', { id: execution.id, error });
        keep(execution);
        return false;
      }
    },

    isWaiting: (id: string): boolean => waiting.has(id),

    /** Tries once more what still waits. */
    async [Symbol.asyncDispose](): Promise<void> {
      clearTimeout(timer ?? undefined);
      await trying;
      clearTimeout(timer ?? undefined);
      if (waiting.size === 0) return;
      await tryAgain();
      clearTimeout(timer ?? undefined);
      if (waiting.size > 0) log.error('execution.ends_lost', { count: waiting.size });
    },
  };
}
