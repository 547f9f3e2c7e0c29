/**
 * The questions of a run: code waits for a person, and the call that attends the run passes the question on. One at a
 * time, each answered once and in time. How a client is asked is in `surfaces/mcp/`; extensions say what is asked.
 */
import type { InputResponseView } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { createMutex } from '../../platform/concurrency/mutex.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { McpClient, Question } from '../offer/tool.ts';

/** Reads the answer to one question; throws why there is none. */
export type ReadAnswer = (key: string) => InputResponseView;

/** A question that the call that attends the run has to pass on. */
export interface PendingQuestion {
  readonly number: number;
  readonly question: Question;
}

export interface RunQuestions extends Disposable {
  /** Asks, and waits. Rejects where nobody can be asked, or nobody answers. */
  ask(question: Question, signal: AbortSignal): Promise<ReadAnswer>;
  /** The next question, or the one that waits. While somebody waits for this, there is somebody to ask. */
  attend(): AttendedQuestions;
  /** Gives the answer to the question of this number, unless it is late. */
  answer(number: number, read: ReadAnswer): void;
}

export interface AttendedQuestions extends Disposable {
  readonly next: Promise<PendingQuestion>;
}

/** More would be rounds that the client has to take part in; `surfaces/mcp/call-tool.ts` bounds them too. */
const maxQuestions = 20;

export interface RunQuestionsOptions {
  /** Whether a call attends the run, or is about to. */
  readonly isAttended: boolean;
  /** How long an answer may take. */
  readonly timeoutMs: number;
  /** Called when a question was passed on and no answer came: its call will not come back. */
  readonly abandoned: () => void;
}

interface Waiting extends PendingQuestion {
  readonly settled: PromiseWithResolvers<ReadAnswer>;
  wasPassedOn: boolean;
}

export function createRunQuestions(options: RunQuestionsOptions): RunQuestions {
  const { timeoutMs, abandoned } = options;
  const turns = createMutex();
  let canBeAsked = options.isAttended;
  let attending: PromiseWithResolvers<PendingQuestion> | null = null;
  let waiting: Waiting | null = null;
  let count = 0;

  const passOn = (): void => {
    if (waiting === null || attending === null || waiting.wasPassedOn) return;
    waiting.wasPassedOn = true;
    attending.resolve(waiting);
  };

  async function askOne(question: Question, signal: AbortSignal): Promise<ReadAnswer> {
    signal.throwIfAborted();
    if (!canBeAsked)
      throw callRefusedError('nobody can be asked: the run goes on without the call that began it');
    if (++count > maxQuestions) throw callRefusedError(`the run has asked ${maxQuestions} times already`);
    const settled = Promise.withResolvers<ReadAnswer>();
    const own: Waiting = { number: count, question, settled, wasPassedOn: false };
    waiting = own;
    const stop = (): void => settled.reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const late = setTimeout(() => {
      settled.reject(callRefusedError(`nobody answered within ${Math.round(timeoutMs / 1000)} seconds`));
      if (!own.wasPassedOn) return;
      canBeAsked = false;
      abandoned();
    }, timeoutMs);
    passOn();
    try {
      return await settled.promise;
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
      waiting = null;
    }
  }

  return {
    ask: (question, signal) => turns.run(() => askOne(question, signal)),
    attend() {
      canBeAsked = true;
      const own = (attending = Promise.withResolvers<PendingQuestion>());
      passOn();
      return {
        next: own.promise,
        [Symbol.dispose]() {
          if (attending !== own) return;
          attending = null;
          // With a question it comes back, by a further round.
          canBeAsked = waiting?.wasPassedOn === true;
        },
      };
    },
    answer(number, read) {
      if (waiting?.number === number) waiting.settled.resolve(read);
    },
    [Symbol.dispose]: () => waiting?.settled.reject(callRefusedError('the run has ended')),
  };
}

export const callRefusedError = (why: string): WorkcrateError =>
  new WorkcrateError('client_refused', `It was not allowed: ${why}.`);

const askedRunShape = z.strictObject({ run: z.string(), question: z.number() });

/** Which run a further round of a call is about, and which of its questions; null in the first round. */
export function readAskedRun({ state }: Pick<McpClient, 'state'>): z.output<typeof askedRunShape> | null {
  return askedRunShape.safeParse(state).data ?? null;
}

/** The question of a run as the result of the call that attends it. */
export const toRunQuestion = (run: string, { number, question }: PendingQuestion): Question => ({
  ask: question.ask,
  state: { run, question: number },
});

export const lateAnswerError = (id: string): WorkcrateError =>
  new WorkcrateError(
    'client_timeout',
    `The answer came too late, or to another server than the one that runs ${id}: that went on without it. get_execution shows how it ended.`,
  );
