import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Log } from '../log.ts';
import { isWorkcrateError, WorkcrateError, type ErrorCode } from '../errors.ts';

/** What is done in another thread: named functions that take and give plain data. */
export type Methods = Readonly<Record<string, Method>>;

/** `report` tells the caller how far the work is; `signal` fires when nobody waits for it any more. */
type Method = (argument: never, context: CallContext) => Promise<unknown>;

export interface CallContext {
  readonly signal: AbortSignal;
  report(progress: unknown): void;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly report?: ((progress: never) => void) | undefined;
}

/** The other side of a thread's methods. */
export interface Thread<M extends Methods> extends AsyncDisposable {
  call<Name extends keyof M & string>(
    name: Name,
    argument: Parameters<M[Name]>[0],
    options?: CallOptions,
  ): Promise<Awaited<ReturnType<M[Name]>>>;
  /** Whether it has been started. */
  readonly isRunning: boolean;
}

/** What goes over: numbers tell calls apart. */
export type ToThread =
  | { readonly call: number; readonly method: string; readonly argument: unknown }
  | { readonly cancel: number };

export type FromThread =
  | { readonly log: LogLine }
  | { readonly call: number; readonly progress: unknown }
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly failure: Failure };

/** A line for the log of the process. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, string | number>>;
  /** For the log: what a caller is not told. */
  readonly cause: string | null;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly report: ((progress: never) => void) | undefined;
}

const mostWaiting = 1000;

/**
 * A thread that is started when it is first asked, and again after it has failed. `file` is a module that calls
 * `answerCalls`; `data` is what it gets as its workerData. An idle thread does not hold the process back.
 */
export function createThread<M extends Methods>(file: URL, data: unknown, log: Log): Thread<M> {
  let running: ReturnType<typeof start> | null = null;
  let isClosed = false;

  const started = (): ReturnType<typeof start> => {
    if (isClosed) throw stopping();
    if (running === null || running.hasEnded) running = start(file, data, log);
    return running;
  };

  return {
    get isRunning() {
      return running !== null && !running.hasEnded;
    },
    async call(method, argument, options = {}) {
      return started().ask(method, argument, options) as Promise<never>;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await running?.end();
    },
  };
}

/** Bounded, so that what is too much for a thread does not take the whole process along. */
const resourceLimits = { maxOldGenerationSizeMb: 2048 };

/** How long what is under way may take to end by itself, and to leave things tidy, once the thread is to end. */
const mostEndingMs = 2000;
const endingStepMs = 10;

function start(file: URL, data: unknown, log: Log) {
  const worker = new Worker(file, { workerData: data, resourceLimits });
  const waiting = new Map<number, Waiting>();
  const cancel = (call: number): void => worker.postMessage({ cancel: call } satisfies ToThread);
  let [last, hasEnded, isStopping] = [0, false, false];
  worker.unref();
  worker.on('message', (message: FromThread) => {
    if ('log' in message) log[message.log.level](message.log.event, message.log.fields);
    else take(waiting, message, worker);
  });

  function fail(cause: unknown): void {
    if (hasEnded) return;
    hasEnded = true;
    if (!isStopping) log.error('thread.failed', { error: cause });
    for (const { reject } of waiting.values()) reject(isStopping ? stopping() : threadFailed(cause));
    waiting.clear();
    void worker.terminate();
  }

  worker.on('error', fail);
  worker.on('messageerror', fail);
  worker.on('exit', (code) => fail(new Error(`The thread ended with ${code}.`)));

  return {
    get hasEnded() {
      return hasEnded;
    },

    async ask(method: string, argument: unknown, { signal, report }: CallOptions): Promise<unknown> {
      signal?.throwIfAborted();
      if (waiting.size >= mostWaiting)
        throw new WorkcrateError('too_many_requests', 'Too many calls wait for this. Try again later.');
      const call = ++last;
      // What cannot go over is told by this, before anybody waits for it.
      worker.postMessage({ call, method, argument } satisfies ToThread);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.set(call, { resolve, reject, report });
      const abort = (): void => cancel(call);
      signal?.addEventListener('abort', abort, { once: true });
      worker.ref();
      return promise.finally(() => signal?.removeEventListener('abort', abort));
    },

    async end(): Promise<void> {
      isStopping = true;
      for (const call of waiting.keys()) cancel(call);
      for (let step = 0; waiting.size > 0 && step < mostEndingMs / endingStepMs; step++)
        await pause(endingStepMs);
      await worker.terminate();
    },
  };
}

type Answer = Exclude<FromThread, { readonly log: LogLine }>;

function take(waiting: Map<number, Waiting>, message: Answer, worker: Worker): void {
  const waiter = waiting.get(message.call);
  if (waiter === undefined) return;
  if ('progress' in message) return waiter.report?.(message.progress as never);
  waiting.delete(message.call);
  if (waiting.size === 0) worker.unref();
  if ('result' in message) return waiter.resolve(message.result);
  const { code, message: text, details, cause } = message.failure;
  waiter.reject(new WorkcrateError(code, text, { details: { ...details }, cause: cause ?? undefined }));
}

const stopping = (): WorkcrateError => new WorkcrateError('stopping', 'The server is stopping.');

const threadFailed = (cause: unknown): WorkcrateError =>
  new WorkcrateError('internal', 'A thread of the server failed. Its log says why.', { cause });

/** How a failure crosses over. */
export function failureOf(error: unknown): Failure {
  if (isWorkcrateError(error)) {
    const cause = error.cause instanceof Error ? error.cause.message : null;
    return { code: error.code, message: error.message, details: error.details, cause };
  }
  if (error instanceof Error && error.name === 'AbortError')
    return { code: 'cancelled', message: 'It was cancelled.', details: {}, cause: null };
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'internal', message: 'The server failed. Its log says why.', details: {}, cause };
}
