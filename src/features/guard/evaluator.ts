/**
 * Tries rules on calls in a thread, one call at a time and users in turns, each within a time. A call whose rules do not
 * end in time fails, the thread is ended, and the next call has a new one.
 */
import { extname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { createThread } from '../../platform/workers/workers.ts';
import type { Evaluation } from './evaluate.ts';
import type { Rule } from './rule.ts';
import type { RulesToTry, RuleThreadMethods } from './rule-thread.ts';

/** A megabyte of code takes all shipped rules about a second. */
const usualEvaluationMs = 5000;
/** Far more than a thread takes to start. */
const startMs = 30_000;
const mostWaitingOfUser = 200;

export interface Evaluator extends AsyncDisposable {
  /** Rejects with `guard_failed` where the rules do not come to an end. */
  evaluate(user: string, tried: RulesToTry, signal?: AbortSignal): Promise<Evaluation>;
}

export interface EvaluatorOptions {
  readonly rules: readonly Rule[];
  /** How long the rules may take for one call. */
  readonly timeMs?: number;
  readonly log: Log;
}

const never = new AbortController().signal;
const ruleThreadFile = new URL(`./rule-thread${extname(import.meta.filename)}`, import.meta.url);

export function createEvaluator({ rules, timeMs = usualEvaluationMs, log }: EvaluatorOptions): Evaluator {
  const thread = createThread<RuleThreadMethods>(ruleThreadFile, rules, log);
  const queue = createFairQueue({ most: 1, mostOfUser: 1, mostWaitingOfUser, refusals: queueRefusals });

  /** Whatever does not answer in time is ended: nothing else waits for this thread. */
  async function inTime<T>(asked: Promise<T>, ms: number): Promise<T> {
    const over = new AbortController();
    const late = pause(ms, null, { signal: over.signal }).then(
      () => thread.kill(evaluationTimeError(ms)),
      () => {},
    );
    try {
      return await asked;
    } finally {
      over.abort();
      await late;
    }
  }

  async function evaluateNow(tried: RulesToTry): Promise<Evaluation> {
    if (!thread.isRunning) await inTime(thread.call('prepare', undefined), startMs);
    return inTime(thread.call('evaluate', tried), timeMs);
  }

  return {
    evaluate: (user, tried, signal = never) => queue.run({ user, signal }, () => evaluateNow(tried)),
    async [Symbol.asyncDispose]() {
      queue.close();
      await thread[Symbol.asyncDispose]();
    },
  };
}

const evaluationTimeError = (ms: number): WorkcrateError =>
  new WorkcrateError('guard_failed', `its rules did not come to an end within ${ms} ms`);

const queueRefusals = {
  busy: () => new WorkcrateError('guard_failed', 'too many calls of this user wait to be judged'),
  cancelled: ({ reason }: AbortSignal): unknown => reason,
  closed: () => new WorkcrateError('stopping', 'The server is stopping.'),
};
