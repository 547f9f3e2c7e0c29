import { setTimeout as pause } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { WorkcrateError } from '../errors.ts';
import { answerCalls, isAfterFailure, getParentData, getParentLog } from './inside.ts';
import type { CallContext } from './workers.ts';

const log = getParentLog();

/** What the tests have done in another thread or process. */
const methods = {
  add: async ({ a, b }: { a: number; b: number }): Promise<number> => a + b,
  which: async (): Promise<{ thread: string; data: unknown; argv: string; again: boolean }> => ({
    thread: `${process.pid} ${threadId}`,
    data: await getParentData(),
    again: isAfterFailure(),
    argv: [...process.execArgv, ...process.argv].join(' '),
  }),
  refuse: async (): Promise<never> => {
    throw new WorkcrateError('not_found', 'There is none.', { details: { at: 7 }, cause: new Error('why') });
  },
  stumble: async (): Promise<never> => {
    throw new TypeError('a bug with its text');
  },
  count: async (to: number, { report }: CallContext): Promise<string> => {
    for (let at = 1; at <= to; at++) report({ at });
    return 'counted';
  },
  wait: async (_: undefined, { signal, report }: CallContext): Promise<void> => {
    report('begun');
    await pause(60_000, null, { signal });
  },
  /** Takes no notice of being cancelled. */
  sleep: async (ms: number): Promise<string> => pause(ms, 'slept'),
  /** Never comes back, and hears nothing. */
  spin: async (_: undefined, { report }: CallContext): Promise<void> => {
    report(process.pid);
    await pause(20);
    while (true);
  },
  /** Takes memory outside of V8's heap, for ever, and hears nothing. */
  fill: async (): Promise<void> => {
    const taken: Buffer[] = [];
    for (let at = 0; ; at++) {
      if (taken.length < 200) taken.push(Buffer.alloc(10_000_000, at));
    }
  },
  // oxlint-disable-next-line node/no-process-env -- What is in it is the question.
  environment: async (): Promise<string[]> => Object.keys(process.env),
  die: async (how: 'throw' | 'exit' | 'abort'): Promise<void> => {
    if (how === 'exit') process.exit(3);
    if (how === 'abort') process.abort();
    setImmediate(() => {
      throw new Error('out of the blue');
    });
    await pause(60_000);
  },
  giveFunction: async (): Promise<unknown> => () => {},
  say: async (text: string): Promise<void> => {
    log.info('test.said', { text, error: new WorkcrateError('too_large', 'Too much.') });
    log.error('test.failed', { error: new Error('with a stack') });
  },
};

export type SumsMethods = typeof methods;

answerCalls(methods);
