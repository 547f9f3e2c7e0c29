/**
 * Runs a call that may become a task: one that is over soon is answered as any other; one that is not becomes a task, and
 * from then on no lost connection ends it (decision 043). What the call does is not known here.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ProtocolError, type CallToolResult, type InputRequiredResult } from '@modelcontextprotocol/server';
import type { Caller } from '../../../core/identity.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { Answers } from '../asking.ts';
import type { Question, TaskOfCall, ToolContext } from '../../../core/offer/tool.ts';
import type { RunningTask } from './running-task.ts';
import { createLostOutcome, internalErrorCode, lostMessage, toTaskError, type TaskOutcome } from './task.ts';
import type { Tasks } from './tasks.ts';

/** A call that is over by then costs its client no second request. */
export const usualTaskAfterMs = 500;

export interface LongCallOptions {
  /** The tasks of this server; they may still be opening. */
  readonly tasks: Promise<Tasks>;
  readonly caller: Caller;
  readonly tool: string;
  /** Fires when the client cancels the call or goes away: that ends it until it is a task. */
  readonly lost: AbortSignal;
  /** Fires when the server ends what is left of calls. */
  readonly cutting: AbortSignal;
  readonly progress: ToolContext['progress'];
  readonly afterMs: number;
  readonly log: Log;
}

/** What the call is run with. */
export interface LongCall {
  readonly signal: AbortSignal;
  readonly progress: ToolContext['progress'];
  readonly task: TaskOfCall;
  /** Asks the client through the task; null as long as there is none, and the question is the result of the call. */
  readonly ask: (question: Question) => Promise<Answers | null>;
}

/** What a call said before it became a task. */
interface CallSoFar {
  text: string;
  execution: ShownExecution | null;
}

interface ShownExecution {
  readonly id: string;
  readonly becameTask: () => Promise<void>;
}

type CallEnd = CallToolResult | InputRequiredResult;
type CreatedTask = ReturnType<Tasks['toCreated']>;

/** Gives the result of the call, or the task that it became. */
export async function runLongCall(
  options: LongCallOptions,
  work: (call: LongCall) => Promise<CallEnd>,
): Promise<CallEnd | CreatedTask> {
  const { lost, cutting, afterMs, log } = options;
  const end = new AbortController();
  const cutOff = (): void => end.abort(lost.reason);
  lost.addEventListener('abort', cutOff, { once: true });
  if (lost.aborted) cutOff();
  const said: CallSoFar = { text: '', execution: null };
  let beginning: Promise<RunningTask | null> | null = null;
  let task: RunningTask | null = null;

  const running = work({
    signal: AbortSignal.any([end.signal, cutting]),
    progress(done, total, message) {
      if (task === null) options.progress(done, total, message);
      said.text = message ?? (total === null ? said.text : `${done} of ${total}`);
      task?.tell(said.text);
    },
    task: {
      showExecution(id, becameTask) {
        if (beginning === null) said.execution = { id, becameTask };
        else void beginning.then((begun) => begun && showLate(begun, { id, becameTask }, log));
      },
    },
    // One that comes while the task is being written waits for that.
    ask: async (question) => (await beginning)?.ask(question) ?? null,
  });

  if (await endsWithin(running, afterMs)) {
    lost.removeEventListener('abort', cutOff);
    return running;
  }
  beginning = beginTask(options, end, said.execution).catch((error: unknown) => {
    log.warn('task.not_begun', { tool: options.tool, error });
    return null;
  });
  task = await beginning;
  // It stays a call like any other.
  if (task === null) return running.finally(() => lost.removeEventListener('abort', cutOff));
  lost.removeEventListener('abort', cutOff);
  task.tell(said.text);
  const tasks = await options.tasks;
  void finishTask(tasks, task, running, options);
  return tasks.toCreated(task.task);
}

async function endsWithin(running: Promise<unknown>, ms: number): Promise<boolean> {
  const waiting = new AbortController();
  const late = pause(ms, false, { signal: waiting.signal }).catch(() => false);
  const over = running.then(
    () => true,
    () => true,
  );
  const isOver = await Promise.race([over, late]);
  waiting.abort();
  return isOver;
}

async function beginTask(
  { tasks, caller, tool, log }: LongCallOptions,
  end: AbortController,
  shown: ShownExecution | null,
): Promise<RunningTask | null> {
  const execution = shown?.id ?? null;
  const message = execution === null ? '' : `running as ${execution}`;
  const task = await (await tasks).begin({ caller, tool, execution, message, end });
  if (task !== null && shown !== null) await tellExecution(shown, log);
  return task;
}

/** The task is there already: an execution that does not know of it keeps nobody from that. */
async function tellExecution({ id, becameTask }: ShownExecution, log: Log): Promise<void> {
  await becameTask().catch((error: unknown) => log.warn('task.not_recorded', { id, error }));
}

/** An execution that began after its task. */
async function showLate(task: RunningTask, shown: ShownExecution, log: Log): Promise<void> {
  task.setExecution(shown.id);
  await tellExecution(shown, log);
}

async function finishTask(
  tasks: Tasks,
  task: RunningTask,
  running: Promise<CallEnd>,
  { cutting }: LongCallOptions,
): Promise<void> {
  const outcome = await running.then(toOutcome, toFailure);
  if (cutting.aborted || task.endReason === 'stopping')
    return tasks.finish(task, createLostOutcome(task.task, 'stopped'), lostMessage);
  if (task.endReason !== null) return tasks.finish(task, { status: 'cancelled' }, describeCancelled(task));
  return tasks.finish(task, outcome);
}

const describeCancelled = ({ endReason, task: { execution } }: RunningTask): string =>
  [
    endReason === 'removed' ? 'ended: its user was removed' : 'cancelled',
    ...(execution === null ? [] : [`get_execution shows what ${execution} did until then`]),
  ].join('; ');

function toOutcome(result: CallEnd): TaskOutcome {
  return { status: 'completed', result: result as CallToolResult };
}

function toFailure(error: unknown): TaskOutcome {
  if (error instanceof ProtocolError) return { status: 'failed', error: toTaskError(error) };
  return {
    status: 'failed',
    error: { code: internalErrorCode, message: 'The server failed. Its log says why.' },
  };
}
