/**
 * What is recorded of a run when it begins and when it has ended: its row, what it made and what it called. When that is
 * due is decided in `execute.ts`; the rows themselves are in `store.ts`.
 */
import { isConnectionLost, type Queries } from '../database/database.ts';
import type { WorkcrateError } from '../errors.ts';
import type { EndedCalls } from '../tool-calls/store.ts';
import type { EndedExecution, ExecuteContext, ScriptOfRun } from './execute.ts';
import { toFailedExecution } from './execution-record.ts';
import type { Execution } from './fields.ts';
import { recordMakers } from './file-makers.ts';
import type { MadeFile } from './folder-diff.ts';
import type { RunUnderWay } from './live.ts';
import { insertRunning } from './store.ts';

/**
 * Resolves once the row is durable. Not before that does the sandbox get the code: a run that nobody knows of would be
 * made again. Where it fails, nothing runs; a row that may be there all the same, or come later, gets its end.
 */
export async function recordBegin(
  room: ExecuteContext,
  begun: Execution,
  script: ScriptOfRun | null,
): Promise<void> {
  const insert = (queries: Queries): Promise<void> =>
    insertRunning(queries, begun, room.server, room.database.sharedClock);
  try {
    if (script === null) await room.write(insert);
    else
      await room.database.transaction(async (tx) => {
        await insert(tx);
        await script.count(tx, begun);
      });
  } catch (error) {
    if (isConnectionLost(error)) room.ends.refuse(toFailedExecution(begun, room.clock(), 'refused', error));
    throw error;
  }
}

/** Nothing is made for code that may not run, but there is a record of it. */
export async function recordBlocked(
  room: ExecuteContext,
  begun: Execution,
  underWay: RunUnderWay,
  error: WorkcrateError,
): Promise<void> {
  await recordBegin(room, begun, null);
  await recordEnd(room, underWay, toFailedExecution(begun, room.clock(), 'refused', error));
}

export async function recordMade(
  { write, log }: ExecuteContext,
  execution: Execution,
  made: readonly MadeFile[],
): Promise<void> {
  if (made.length === 0) return;
  try {
    await write((queries) => recordMakers(queries, execution, made));
  } catch (error) {
    log.warn('execution.made_files_not_recorded', { id: execution.id, error });
  }
}

async function recordCalls(
  { write, log }: ExecuteContext,
  { id }: Execution,
  calls: EndedCalls | null,
): Promise<void> {
  try {
    if (calls !== null) await write((queries) => calls.write(queries));
  } catch (error) {
    log.warn('execution.calls_not_recorded', { id, error });
  }
}

/** Also gives whether the end is in the row. If not, it is retried later; the caller gets the result all the same. */
export async function recordEnd(
  room: ExecuteContext,
  { background, cancelledBy }: RunUnderWay,
  ended: Execution,
): Promise<Pick<EndedExecution, 'execution' | 'isRecorded'>> {
  const canceller = ended.reason === 'cancelled' ? (cancelledBy ?? 'client') : null;
  const calls = room.callStore?.end(ended.id) ?? null;
  const called = calls === null ? {} : { toolCalls: calls.summary, toolCallBytes: calls.bytes };
  const execution = { ...ended, ...called, background, cancelledBy: canceller };
  // Both within one turn, so that they share a transaction.
  const recordingCalls = recordCalls(room, execution, calls);
  const isRecorded = await room.ends.end(execution);
  await recordingCalls;
  room.ended(execution);
  const { id, owner: user, language, reason, durationMs: ms } = execution;
  room.log.info('execution.ended', { id, user, language, reason, ms, background });
  return { execution, isRecorded };
}
