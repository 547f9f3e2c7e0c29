/**
 * Runs code for a call, and decides when the two part: the caller asked for the background, the call has lasted as long
 * as its client waits, or its connection was lost. It makes no answer (`answer.ts` does).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { readEndOfCall, type Question, type ToolContext } from '../offer/tool.ts';
import type { EndedExecution, ExecutionRequest } from './execute.ts';
import type { Executions } from './executions.ts';
import type { LiveRun } from './live.ts';
import { lateAnswerError, readAskedRun, toRunQuestion } from './questions.ts';

export interface AttendOptions {
  readonly executions: Pick<Executions, 'begin' | 'findLive'>;
  /** After how long a run goes on without its call, where the client cannot wait; null: never. */
  readonly detachMs: number | null;
}

/** What a call came to: a run that is over, one that goes on without it, or one that waits for a person. */
export type AttendedRun =
  | { readonly ended: EndedExecution }
  | { readonly live: LiveRun }
  | { readonly question: Question };

/** Code that fails at once, or could not be started, is told at once. */
const soonMs = 50;

/** Runs code for a call. Rejects where nothing ran. */
export async function runForCall(
  options: AttendOptions,
  context: Pick<ToolContext, 'caller' | 'signal' | 'progress' | 'canWait' | 'task' | 'client' | 'trace'>,
  request: ExecutionRequest,
  isBackground: boolean,
): Promise<AttendedRun> {
  const { client, trace = null } = context;
  const named = { ...request, client: client.name, trace };
  const live = await beginForCall(options, context, named, isBackground);
  context.task?.showExecution(live.id, () => live.moveToBackground('task'));
  if (isBackground) return endOrLeave(live, pause(soonMs));
  return attendRun(live, context.signal, getDetachMs(options, context));
}

const getDetachMs = ({ detachMs }: AttendOptions, { canWait }: Pick<ToolContext, 'canWait'>): number | null =>
  canWait ? null : detachMs;

/** A further round of a call, with the answer to a question of its run; null in the first round. */
export async function continueForCall(
  options: AttendOptions,
  context: Pick<ToolContext, 'caller' | 'signal' | 'canWait' | 'task' | 'client'>,
): Promise<AttendedRun | null> {
  const { client, caller, task, signal } = context;
  const asked = readAskedRun(client);
  if (asked === null) return null;
  const live = options.executions.findLive(caller, asked.run);
  if (live === null) throw lateAnswerError(asked.run);
  task?.showExecution(live.id, () => live.moveToBackground('task'));
  const run = attendRun(live, signal, getDetachMs(options, context));
  live.questions.answer(asked.question, (key) => client.answer(key));
  return run;
}

/** What ends the call before there is a run ends the preparation. Later on that depends on how the call ended. */
async function beginForCall(
  { executions }: AttendOptions,
  { caller, signal: preparing, progress }: Pick<ToolContext, 'caller' | 'signal' | 'progress'>,
  request: ExecutionRequest,
  isBackground: boolean,
): Promise<LiveRun> {
  const background = isBackground ? { background: 'asked' as const } : {};
  return executions.begin(caller, request, { preparing, progress, ...background });
}

async function attendRun(live: LiveRun, signal: AbortSignal, detachMs: number | null): Promise<AttendedRun> {
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const endCall = (): void => {
    const end = readEndOfCall(signal);
    if (end !== 'disconnected') return live.cancel(end === 'stopping' ? 'stopped_server' : 'client');
    live.leave();
    leave();
  };
  // Where that cannot be recorded, the call goes on waiting.
  const detach = (): void => void live.moveToBackground('detached').then(leave, () => {});
  const timer = detachMs === null ? null : setTimeout(detach, detachMs);
  if (signal.aborted) endCall();
  signal.addEventListener('abort', endCall, { once: true });
  using questions = live.questions.attend();
  const asked = questions.next.then((pending) => ({ question: toRunQuestion(live.id, pending) }));
  try {
    return await Promise.race([endOrLeave(live, left), asked]);
  } finally {
    clearTimeout(timer ?? undefined);
    signal.removeEventListener('abort', endCall);
  }
}

async function endOrLeave(live: LiveRun, left: Promise<unknown>): Promise<AttendedRun> {
  const ended = live.ended.then((run) => ({ ended: run }));
  return Promise.race([ended, left.then(() => ({ live }))]);
}
