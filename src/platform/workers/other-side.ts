import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { getErrno, isWorkcrateError, type ErrorCode } from '../errors.ts';
import { markExpendable } from './oom-score.ts';

/** The argument of a worker that replaces one that has failed. */
export const afterFailureFlag = 'after-failure';

/** The beginning of the argument that says how many bytes of memory a process may use. */
export const memoryLimitFlag = 'most-memory=';

/** A process that uses more memory than that sends itself this signal. Nobody else does. */
export const outOfMemorySignal = 'SIGUSR2';

/** What is sent: calls have numbers. */
export type MessageToWorker =
  | { readonly call: number; readonly method: string; readonly argument: unknown }
  | { readonly cancel: number }
  /** Asks whether the worker still answers. */
  | { readonly ping: true };

export type MessageFromWorker =
  | { readonly log: LogLine }
  | { readonly pong: true }
  /** An error was thrown that nobody caught, so the worker ends. */
  | { readonly died: WorkerFailure }
  | WorkerAnswer;

export type WorkerAnswer =
  | { readonly call: number; readonly progress: unknown }
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly failure: WorkerFailure };

/** A line for the log of the server. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface WorkerFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, string | number>>;
  /** For the log only: callers do not see it. */
  readonly cause: string | null;
}

/** An error as plain data, which can be sent. */
export function toWorkerFailure(error: unknown): WorkerFailure {
  if (isWorkcrateError(error)) {
    const cause = error.cause instanceof Error ? error.cause.message : null;
    return { code: error.code, message: error.message, details: error.details, cause };
  }
  if (error instanceof Error && error.name === 'AbortError')
    return { code: 'cancelled', message: 'It was cancelled.', details: {}, cause: null };
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'internal', message: 'The server failed. Its log says why.', details: {}, cause };
}

/** Where calls are answered: a thread or a process. */
export interface WorkerSide {
  /** Throws if the message cannot be sent. What comes after the end is dropped: `ended` has been called. */
  post(message: MessageToWorker): void;
  /** Whether it keeps the server from ending. */
  hold(isHeld: boolean): void;
  /** Ends it, whatever it is doing; an idle one may end by itself. */
  end(): Promise<void>;
  /** Ends it now. */
  kill(): void;
}

export interface WorkerListener {
  /** Whether it replaces one that has failed; the worker can ask. */
  readonly isAfterFailure: boolean;
  heard(message: MessageFromWorker): void;
  ended(cause: unknown): void;
}

export type StartWorkerSide = (hearing: WorkerListener) => WorkerSide;

const toWorkerArguments = ({ isAfterFailure }: WorkerListener): string[] =>
  isAfterFailure ? [afterFailureFlag] : [];

/** Limited, so that a worker does not take all memory of the machine. */
const maxHeapMegabytes = 2048;

/** V8 ends the whole process if a thread runs out of memory, so this is not for input that is not trusted. */
export const startInThread =
  (file: URL, workerData: unknown): StartWorkerSide =>
  (hearing) => {
    const { heard, ended } = hearing;
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMegabytes };
    const worker = new Worker(file, { workerData, argv: toWorkerArguments(hearing), resourceLimits });
    worker.on('message', heard);
    worker.on('error', ended);
    worker.on('messageerror', ended);
    worker.on('exit', (code) => ended(new Error(`The thread ended with ${code}.`)));
    return {
      post: (message) => worker.postMessage(message),
      hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
      end: async () => void (await worker.terminate()),
      kill: () => void worker.terminate(),
    };
  };

/** Stdout belongs to the protocol under `workcrate stdio`; what V8 says at its end is for the log. */
const childStdio: ('ignore' | 'inherit' | 'ipc')[] = ['ignore', 'ignore', 'inherit', 'ipc'];

/** A program that runs another one, whose command line follows its own arguments. */
export interface CommandWrapper {
  readonly command: string;
  readonly args: readonly string[];
}

export interface WorkerProcessOptions {
  /** How long it may not answer while it has something to do; five minutes by default. */
  readonly silentMs?: number;
  /** Ends a process that uses more, also while native code keeps it busy. */
  readonly memoryBytes?: number;
  readonly nodeFlags?: readonly string[];
  /** Its whole environment; by default that of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Such as a sandbox around the process; the process must end when its wrapper is killed. */
  readonly wrapper?: CommandWrapper | null;
}

/** A process used more memory than allowed. */
export class OutOfMemory extends Error {}

/** `data` may contain secrets: it is sent by the channel, and not where other users of the machine can see it. */
export const startInProcess =
  (file: URL, data: unknown, options: WorkerProcessOptions): StartWorkerSide =>
  (hearing) => {
    const { heard, ended } = hearing;
    const child = forkWorker(file, toWorkerArguments(hearing), options);
    markExpendable(child.pid);
    child.on('message', (message) => heard(message as MessageFromWorker));
    child.on('error', ended);
    child.on('exit', (code, signal) => {
      killAll(child);
      ended(toExitError(code, signal));
    });
    const post = (message: object): void => {
      // A failure is followed by the end of the process, which `ended` reports.
      if (child.connected) child.send(message, () => {});
    };
    post({ data });
    return {
      post,
      hold: (isHeld) => keepLoopAlive(child, isHeld),
      end: () => endProcess(child),
      kill: () => killAll(child),
    };
  };

/**
 * The process and those that it started, which are a group of their own: a wrapper that is killed while it sets up its
 * sandbox leaves a process that waits for it and has not yet asked to die with it.
 */
function killAll({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // None of them is left.
    if (getErrno(error) !== 'ESRCH') throw error;
  }
}

function forkWorker(file: URL, words: string[], options: WorkerProcessOptions): ChildProcess {
  const { memoryBytes, nodeFlags = [], env, wrapper = null } = options;
  const flags = [`--max-old-space-size=${maxHeapMegabytes}`, ...nodeFlags];
  return fork(file, memoryBytes === undefined ? words : [...words, `${memoryLimitFlag}${memoryBytes}`], {
    stdio: childStdio,
    serialization: 'advanced',
    detached: true,
    execPath: wrapper?.command ?? process.execPath,
    execArgv: wrapper === null ? flags : [...wrapper.args, process.execPath, ...flags],
    ...(env === undefined ? {} : { env: { ...env } }),
  });
}

/** A wrapper reports a signal as a shell does. */
function toExitError(code: number | null, signal: NodeJS.Signals | null): Error {
  const isMemory = signal === outOfMemorySignal || code === 128 + constants.signals[outOfMemorySignal];
  return isMemory
    ? new OutOfMemory('The process had more memory than it may.')
    : new Error(`The process ended with ${signal ?? code}.`);
}

function keepLoopAlive(child: ChildProcess, isHeld: boolean): void {
  for (const handle of [child, child.channel]) handle?.[isHeld ? 'ref' : 'unref']();
}

/** How long an idle process gets to end by itself, and the system to end one that does not. */
const maxProcessEndMs = 500;

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.connected) child.disconnect();
  await waitForWorkerExit(child);
  killAll(child);
  await waitForWorkerExit(child);
}

async function waitForWorkerExit(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const late = new AbortController();
  const passed = pause(maxProcessEndMs, null, { signal: late.signal }).catch(() => {});
  await Promise.race([once(child, 'exit', { signal: late.signal }).catch(() => {}), passed]);
  late.abort();
}
