/**
 * Calls from the server to a worker thread or a child process that starts on demand and again after a failure. It has no
 * pool and knows no method; `inside.ts` is the other end. It is no sandbox: that is `ports/sandbox/`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../errors.ts';
import type { Log } from '../observability/log.ts';
import {
  startInProcess,
  startInThread,
  OutOfMemory,
  type WorkerAnswer,
  type WorkerFailure,
  type MessageFromWorker,
  type WorkerProcessOptions,
  type StartWorkerSide,
} from './other-side.ts';

export { becomeExpendable, expendableOomScore, markExpendable } from './oom-score.ts';
export type { CommandWrapper } from './other-side.ts';

/** What another thread or process does: named functions that take and return plain data. */
export type Methods = Readonly<Record<string, Method>>;

/** `report` sends progress to the caller; `signal` fires when nobody waits for the result any more. */
type Method = (argument: never, context: CallContext) => Promise<unknown>;

export interface CallContext {
  readonly signal: AbortSignal;
  report(progress: unknown): void;
}

export interface WorkerCallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly report?: ((progress: never) => void) | undefined;
}

/** The server's side of the methods. */
export interface Thread<M extends Methods> extends AsyncDisposable {
  call<Name extends keyof M & string>(
    name: Name,
    argument: Parameters<M[Name]>[0],
    options?: WorkerCallOptions,
  ): Promise<Awaited<ReturnType<M[Name]>>>;
  /** Whether it is running. */
  readonly isRunning: boolean;
  /** Ends it now: all calls that wait fail with `cause`, and the next one starts it again. */
  kill(cause: unknown): void;
}

interface WaitingWorkerCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly report: ((progress: never) => void) | undefined;
}

const maxWaitingCalls = 1000;

/**
 * A thread that starts at the first call, and again after it has failed. `file` is a module that calls `answerCalls`;
 * `data` is what it gets from `getParentData`. An idle thread does not keep the server from ending.
 */
export const createThread = <M extends Methods>(file: URL, data: unknown, log: Log): Thread<M> =>
  createLazyWorker(startInThread(file, data), log, null);

/** Far more than anything that works should take. */
const maxSilentMs = 5 * 60_000;

/**
 * The same in a process of its own, for work that may run out of memory or never end: the server survives. A process
 * that does not answer for five minutes while it has something to do is killed.
 */
export const createHelperProcess = <M extends Methods>(
  file: URL,
  data: unknown,
  log: Log,
  options: WorkerProcessOptions = {},
): Thread<M> => createLazyWorker(startInProcess(file, data, options), log, options.silentMs ?? maxSilentMs);

/** Whether a call failed because its process used more memory than allowed. */
export const ranOutOfMemory = (error: unknown): boolean =>
  error instanceof WorkcrateError && error.cause instanceof OutOfMemory;

function createLazyWorker<M extends Methods>(
  side: StartWorkerSide,
  log: Log,
  silentMs: number | null,
): Thread<M> {
  let running: ReturnType<typeof startWorkerSide> | null = null;
  let isClosed = false;

  const getRunning = (): ReturnType<typeof startWorkerSide> => {
    if (isClosed) throw serverStoppingError();
    if (running === null || running.hasEnded)
      running = startWorkerSide(side, log, silentMs, running?.hasFailed === true);
    return running;
  };

  return {
    get isRunning() {
      return running !== null && !running.hasEnded;
    },
    async call(method, argument, options = {}) {
      return getRunning().ask(method, argument, options) as Promise<never>;
    },
    kill(cause) {
      running?.kill(cause);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await running?.end();
    },
  };
}

/** How long what is under way may take to end by itself, and to leave things tidy, once the thread is to end. */
const maxWorkerEndMs = 2000;
const endingStepMs = 10;

function startWorkerSide(
  startSide: StartWorkerSide,
  log: Log,
  silentMs: number | null,
  isAfterFailure: boolean,
) {
  const waiting = new Map<number, WaitingWorkerCall>();
  const cancel = (call: number): void => side.post({ cancel: call });
  let [last, hasEnded, hasFailed, isStopping] = [0, false, false, false];
  const side = startSide({ isAfterFailure, heard, ended: fail });
  const silence = watchSilence({ silentMs, isBusy: () => waiting.size > 0, ping, tooLong: fail });
  side.hold(false);

  function heard(message: MessageFromWorker): void {
    silence.broken();
    if ('log' in message) return log[message.log.level](message.log.event, message.log.fields);
    if ('died' in message) return fail(fromWorkerFailure(message.died));
    if ('call' in message) settleCall(waiting, message);
    if (waiting.size === 0) side.hold(false);
  }

  function ping(): void {
    side.post({ ping: true });
  }

  function fail(cause: unknown): void {
    if (hasEnded) return;
    hasFailed = !isStopping;
    if (hasFailed) log[cause instanceof OutOfMemory ? 'warn' : 'error']('thread.failed', { error: cause });
    refuseAll(isStopping ? serverStoppingError() : threadFailedError(cause));
    void side.end();
  }

  function refuseAll(error: unknown): void {
    hasEnded = true;
    silence.stop();
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  return {
    get hasEnded() {
      return hasEnded;
    },

    get hasFailed() {
      return hasFailed;
    },

    kill(cause: unknown): void {
      if (hasEnded) return;
      side.kill();
      refuseAll(cause);
    },

    async ask(method: string, argument: unknown, { signal, report }: WorkerCallOptions): Promise<unknown> {
      signal?.throwIfAborted();
      if (waiting.size >= maxWaitingCalls)
        throw new WorkcrateError('too_many_requests', 'Too many calls wait for this. Try again later.');
      const call = ++last;
      // This throws for what cannot be sent, before anybody waits for it.
      side.post({ call, method, argument });
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.set(call, { resolve, reject, report });
      const abort = (): void => cancel(call);
      signal?.addEventListener('abort', abort, { once: true });
      side.hold(true);
      return promise.finally(() => signal?.removeEventListener('abort', abort));
    },

    async end(): Promise<void> {
      isStopping = true;
      for (const call of waiting.keys()) cancel(call);
      for (let step = 0; waiting.size > 0 && step < maxWorkerEndMs / endingStepMs; step++)
        await pause(endingStepMs);
      await side.end();
      fail(null);
    },
  };
}

function settleCall(waiting: Map<number, WaitingWorkerCall>, message: WorkerAnswer): void {
  const waiter = waiting.get(message.call);
  if (waiter === undefined) return;
  if ('progress' in message) return waiter.report?.(message.progress as never);
  waiting.delete(message.call);
  if ('result' in message) waiter.resolve(message.result);
  else waiter.reject(fromWorkerFailure(message.failure));
}

const serverStoppingError = (): WorkcrateError => new WorkcrateError('stopping', 'The server is stopping.');

const threadFailedError = (cause: unknown): WorkcrateError =>
  new WorkcrateError('internal', 'A thread of the server failed. Its log says why.', { cause });

const fromWorkerFailure = ({ code, message, details, cause }: WorkerFailure): WorkcrateError =>
  new WorkcrateError(code, message, { details: { ...details }, cause: cause ?? undefined });

/** Counted in checks and not in time, since a machine that slept has not been silent. */
const maxSilenceChecks = 10;

interface SilenceOptions {
  /** Null for no limit. */
  readonly silentMs: number | null;
  isBusy(): boolean;
  ping(): void;
  tooLong(cause: Error): void;
}

/** Pings a busy worker every so often, and calls `tooLong` if no answer comes for long. */
function watchSilence({ silentMs, isBusy, ping, tooLong }: SilenceOptions) {
  // How long a worker takes to start depends on the machine alone, so silence counts from its first message.
  let [looks, hasSpoken] = [0, false];

  function look(): void {
    if (!isBusy()) return void (looks = 0);
    if (hasSpoken && ++looks > maxSilenceChecks)
      tooLong(new Error(`There was no sign of life for ${silentMs! / 1000} seconds.`));
    else ping();
  }

  const timer = silentMs === null ? undefined : setInterval(look, silentMs / maxSilenceChecks).unref();
  return {
    broken(): void {
      [looks, hasSpoken] = [0, true];
    },
    stop: (): void => clearInterval(timer),
  };
}
