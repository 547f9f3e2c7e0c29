/**
 * One task while it runs: what it says of itself, the questions that it waits for, and the signal that ends it. It writes
 * no rows; whoever made it is told of every change (`tasks.ts`).
 */
import type { CallToolResult, InputRequest } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Answers } from '../asking.ts';
import { createStoppingError, type Question } from '../../../core/offer/tool.ts';
import {
  isOver,
  readLastLine,
  type Task,
  type TaskAnswers,
  type TaskOutcome,
  type TaskQuestions,
} from './task.ts';

/** Why a task is ended from outside. */
export type TaskEndReason = 'cancelled' | 'removed' | 'stopping';

export interface RunningTaskOptions {
  readonly task: Task;
  /** Ends the call behind it. */
  readonly end: AbortController;
  readonly now: () => number;
  /** How long a client has to answer a question. */
  readonly askMs: number;
  /** Told of each change but the end; `isDue` where others should know at once. */
  readonly changed: (isDue: boolean) => void;
}

interface AskedRound {
  /** The questions without an answer, by the keys that the client got. */
  readonly open: Map<string, { readonly key: string; readonly request: InputRequest }>;
  readonly answers: Answers;
  readonly answered: PromiseWithResolvers<Answers>;
}

export type RunningTask = ReturnType<typeof createRunningTask>;

export function createRunningTask({ task: begun, end, now, askMs, changed }: RunningTaskOptions) {
  let task = begun;
  let rounds = 0;
  let asked: AskedRound | null = null;
  let reason: TaskEndReason | null = null;

  function change(fields: Partial<Task>, isDue: boolean): void {
    if (isOver(task.status)) return;
    task = { ...task, ...fields, updatedAt: now() };
    changed(isDue);
  }

  function showQuestions({ open }: AskedRound): void {
    const questions = Object.fromEntries([...open].map(([key, { request }]) => [key, request]));
    change({ status: 'input_required', questions: questions as TaskQuestions }, true);
  }

  return {
    get task(): Task {
      return task;
    },

    get endReason(): TaskEndReason | null {
      return reason;
    },

    /** Shows the last line of what the call reports. */
    tell(text: string): void {
      const message = readLastLine(text);
      if (message !== '' && message !== task.message) change({ message }, false);
    },

    /** Says which execution it shows. */
    setExecution(execution: string): void {
      change({ execution, message: task.message === '' ? `running as ${execution}` : task.message }, true);
    },

    /** Waits until the client has answered all of it. Its keys are new ones: a task never uses one twice. */
    async ask({ ask }: Question): Promise<Answers> {
      rounds++;
      const entries = Object.entries(ask).map(
        ([key, request]) => [`${rounds}.${key}`, { key, request }] as const,
      );
      const round: AskedRound = { open: new Map(entries), answers: {}, answered: Promise.withResolvers() };
      asked = round;
      const timer = setTimeout(() => round.answered.reject(noAnswerError(askMs)), askMs).unref();
      const giveUp = (): void => round.answered.reject(toEndedError(reason));
      end.signal.addEventListener('abort', giveUp, { once: true });
      if (end.signal.aborted) giveUp();
      showQuestions(round);
      try {
        return await round.answered.promise;
      } finally {
        clearTimeout(timer);
        end.signal.removeEventListener('abort', giveUp);
        asked = null;
        change({ status: 'working', questions: {} }, true);
      }
    },

    /** Takes answers to what is asked; the others are ignored. */
    answer(answers: TaskAnswers): void {
      if (asked === null) return;
      const known = Object.keys(answers).filter((key) => asked!.open.has(key));
      for (const given of known) {
        const { key } = asked.open.get(given)!;
        asked.answers[key] = answers[given];
        asked.open.delete(given);
      }
      if (known.length === 0) return;
      if (asked.open.size === 0) asked.answered.resolve(asked.answers);
      else showQuestions(asked);
    },

    /** Ends the call, which then says so by its outcome. */
    stop(why: TaskEndReason): void {
      if (end.signal.aborted) return;
      reason = why;
      end.abort(toEndedError(why));
    },

    /** The task as it is from now on. */
    finish(outcome: TaskOutcome, message: string, expiresAt: number): Task {
      const kept =
        outcome.status === 'completed' ? { ...outcome, result: boundResult(outcome.result) } : outcome;
      task = {
        ...task,
        status: outcome.status,
        message,
        questions: {},
        outcome: kept,
        updatedAt: now(),
        expiresAt,
      };
      return task;
    },
  };
}

const noAnswerError = (askMs: number): WorkcrateError =>
  new WorkcrateError(
    'client_timeout',
    `The client did not answer within ${Math.round(askMs / 1000)} seconds.`,
  );

function toEndedError(reason: TaskEndReason | null): WorkcrateError {
  if (reason === 'stopping') return createStoppingError(undefined);
  return new WorkcrateError('cancelled', 'The task was cancelled.');
}

const maxResultBytes = 8 * 1024 ** 2;

/** A result that is too large to keep is kept without its pictures, or is an error that says so. */
function boundResult(result: CallToolResult): CallToolResult {
  const size = Buffer.byteLength(JSON.stringify(result));
  if (size <= maxResultBytes) return result;
  const texts = result.content.filter(({ type }) => type === 'text');
  const left = result.content.length - texts.length;
  const note = {
    type: 'text' as const,
    text: `${left} pictures are left out: the result was too large to keep.`,
  };
  const shorter = { ...result, content: [...texts, note] };
  if (left > 0 && Buffer.byteLength(JSON.stringify(shorter)) <= maxResultBytes) return shorter;
  const text = `The result has ${size} bytes, and a task keeps at most ${maxResultBytes}. Ask for less.`;
  return { isError: true, content: [{ type: 'text', text }] };
}
