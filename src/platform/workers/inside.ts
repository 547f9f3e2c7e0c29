/**
 * The end of `workers.ts` that runs in the worker thread or child process: answers calls, logs through the server, ends
 * with it. It starts nothing. Importing it connects to the parent, so only modules that run there import it.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { Log } from '../observability/log.ts';
import {
  afterFailureFlag,
  toWorkerFailure,
  memoryLimitFlag,
  outOfMemorySignal,
  type MessageFromWorker,
  type LogLine,
  type MessageToWorker,
} from './other-side.ts';
import type { CallContext, Methods } from './workers.ts';

/** The parent of this thread or process. */
export interface ParentSide {
  /** What it passed at the start. */
  readonly data: Promise<unknown>;
  post(message: MessageFromWorker): void;
  listen(handle: (message: MessageToWorker) => void): void;
}

function connectToThreadParent(port: NonNullable<typeof parentPort>): ParentSide {
  return {
    data: Promise.resolve(workerData),
    post: (message) => port.postMessage(message),
    listen: (handle) => void port.on('message', handle),
  };
}

function connectToProcessParent(): ParentSide {
  const data = Promise.withResolvers<unknown>();
  // Calls come right after the data, before anybody listens.
  const early: MessageToWorker[] = [];
  let handle = (message: MessageToWorker): void => void early.push(message);
  process.on('message', (message: MessageToWorker | { readonly data: unknown }) =>
    'data' in message ? data.resolve(message.data) : handle(message),
  );
  const post = (message: MessageFromWorker): void => {
    if (process.connected) process.send!(message, undefined, undefined, () => {});
  };
  endWithParent();
  reportUncaughtErrors(post);
  return {
    data: data.promise,
    post,
    listen(listener) {
      handle = listener;
      for (const message of early.splice(0)) handle(message);
    },
  };
}

/** Terminals and service managers send these to all processes. They are for the server, which then ends this one. */
const ignoredSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const parentLookMs = 100;

function endWithParent(): void {
  for (const signal of ignoredSignals) process.on(signal, () => {});
  process.on('disconnect', () => process.exit());
  // A busy thread does not notice that the server is gone, so another thread checks.
  const watch = `setInterval(() => {
    if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL');
  }, ${parentLookMs});`;
  new Worker(watch + watchMemory(), { eval: true }).unref();
}

const memoryLookMs = 50;

/** The same thread sees the memory of native code. */
function watchMemory(): string {
  const word = process.argv.find((word) => word.startsWith(memoryLimitFlag));
  if (word === undefined) return '';
  const bytes = Number(word.slice(memoryLimitFlag.length));
  return `setInterval(() => {
    if (process.memoryUsage.rss() > ${bytes}) process.kill(process.pid, '${outOfMemorySignal}');
  }, ${memoryLookMs});`;
}

const maxDyingMs = 1000;

/** So that the log of the server says why. The server then ends this process. */
function reportUncaughtErrors(post: (message: MessageFromWorker) => void): void {
  process.on('uncaughtException', (error) => {
    post({ died: toWorkerFailure(error) });
    setTimeout(() => process.exit(1), maxDyingMs);
  });
}

// Here, since it needs all of the above when the module is loaded.
const parentSide: ParentSide =
  parentPort === null ? connectToProcessParent() : connectToThreadParent(parentPort);

/** Logs through the parent: there is one log, and it decides which levels it writes. */
export function getParentLog(): Log {
  const at =
    (level: LogLine['level']) =>
    (event: string, fields: LogLine['fields'] = {}): void =>
      parentSide.post({ log: { level, event, fields: toPlainFields(fields) } });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Errors would lose their code in the message. */
function toPlainFields(fields: LogLine['fields']): LogLine['fields'] {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? toWorkerFailure(value) : value,
    ]),
  );
}

/** What the parent passed at the start. */
export const getParentData = (): Promise<unknown> => parentSide.data;

/** Whether this worker replaces one that has failed. */
export const isAfterFailure = (): boolean => process.argv.includes(afterFailureFlag);

/** Answers the calls of the parent. Calls run concurrently; each may be cancelled. */
export function answerCalls(methods: Methods): void {
  const underWay = new Map<number, AbortController>();
  const { post } = parentSide;

  async function answer(call: number, method: string, argument: unknown): Promise<void> {
    const stop = new AbortController();
    underWay.set(call, stop);
    try {
      const context: CallContext = {
        signal: stop.signal,
        report: (progress) => post({ call, progress }),
      };
      post({ call, result: await methods[method]!(argument as never, context) });
    } catch (error) {
      post({ call, failure: toWorkerFailure(error) });
    } finally {
      underWay.delete(call);
    }
  }

  parentSide.listen((message) => {
    if ('ping' in message) post({ pong: true });
    else if ('cancel' in message) underWay.get(message.cancel)?.abort();
    else void answer(message.call, message.method, message.argument);
  });
}
