/**
 * Runs whose end is not in the database: ends that could not be written wait, and runs that nobody holds any more
 * are lost. It stops no run.
 */
import { createJobEnds } from '../jobs/ends.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Execution } from './fields.ts';
import type { LostTerms } from '../jobs/jobs.ts';
import type { LiveRuns } from './live-runs.ts';
import type { RunRecord } from './record.ts';
import { maxSearchedCode, type BatchWriter } from './store.ts';

/** Says of runs that nobody holds any more that they are lost, each once, and gives the number. */
export const endLostRuns = (
  record: RunRecord,
  live: Pick<LiveRuns, 'claimLost'>,
  now: number,
  each: (execution: Execution) => Promise<void>,
  which: Pick<LostTerms, 'id' | 'isAlone'> = {},
): Promise<number> =>
  live.claimLost((row) => each(record.fromRow(row)), {
    ...which,
    set: { sql: "reason = 'lost', ended_at = ?", values: [now] },
  });

/** What extensions have in ends that wait to be written, such as 10,000 files that one run made. */
const maxWaitingBytes = 150_000_000;

export interface EndWriterOptions {
  readonly database: Database;
  readonly record: RunRecord;
  /** The id of this server. */
  readonly server: string;
  readonly write: BatchWriter;
  /** Told of each end once it is in its row: it writes the line. */
  readonly note: (execution: Execution) => Promise<void>;
  readonly log: Log;
}

interface WaitingEnd {
  readonly execution: Execution;
  /** Gives whether the row has the end now. */
  write(queries: Queries, execution: Execution): Promise<boolean>;
}

/**
 * Writes the ends of runs to their rows, and then their lines. Where the database fails, an end waits: its caller has its
 * result already. What is given up, or still waits when the server ends, stays `running` until it is found lost.
 */
export function createEndWriter({ database, record: rows, server, write, note, log }: EndWriterOptions) {
  const ends = createJobEnds<WaitingEnd>({
    write: (_, end) => recordKept(end),
    weigh: ({ execution }) => rows.countBytes(execution),
    maxWeight: maxWaitingBytes,
    told: {
      notWritten: (id, error) => log.error('execution.end_not_written', { id, error }),
      stillNotWritten: (id, error) => log.debug('execution.end_not_written', { id, error }),
      written: (id) => log.info('execution.end_written', { id }),
      givenUp: (count) => log.error('execution.ends_lost', { count }),
    },
  });

  /** The row first: a line without one could be contradicted by what is found at the next start. */
  async function record(execution: Execution): Promise<void> {
    let isEnded = false;
    await write(async (queries) => void (isEnded = await rows.updateEnded(queries, execution)));
    if (isEnded) await note(execution);
    else log.warn('execution.end_refused', { id: execution.id, reason: execution.reason });
  }

  /** Its line is made of the row, which has all of its code. */
  async function recordKept({ execution, write: writeEnd }: WaitingEnd): Promise<void> {
    const isEnded = await writeEnd(database, execution);
    if (!isEnded) return log.warn('execution.end_refused', { id: execution.id, reason: execution.reason });
    const [row] = await database.query('SELECT * FROM executions WHERE id = ?', execution.id);
    if (row) await note(rows.fromRow(row));
  }

  return {
    /** Gives whether the row has the end now. Never rejects: what cannot be written waits. */
    async end(execution: Execution): Promise<boolean> {
      // The row has the rest of them.
      const code = execution.code.slice(0, maxSearchedCode);
      const kept = { execution: { ...execution, code, stdin: '' }, write: rows.updateEnded };
      return (await ends.end(execution.id, kept, () => record(execution))) === null;
    },

    /**
     * For a run that never began, because its row could not be written, which may be there all the same or come later. One
     * that would be cut to be kept here, or would cost another its place, is found lost instead.
     */
    refuse(execution: Execution): void {
      const isWhole = execution.code.length <= maxSearchedCode && execution.stdin === '';
      if (!isWhole || ends.isFull()) return;
      ends.keep(execution.id, {
        execution,
        write: (queries, end) => rows.upsertEnded(queries, end, server),
      });
    },

    isWaiting: (id: string): boolean => ends.find(id) !== null,

    [Symbol.asyncDispose]: ends[Symbol.asyncDispose],
  };
}
