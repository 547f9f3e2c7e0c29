/**
 * The server's side of the worker processes: a pool that stops or kills a process when a signal fires. What the
 * processes do is in `worker.ts`, which the server itself never runs.
 */
import { getCompileCacheDir } from 'node:module';
import { extname } from 'node:path';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { createHelperProcess, ranOutOfMemory, type Thread } from '../../../platform/workers/workers.ts';
import { createProcessPool } from '../pool.ts';
import type { DocumentWorkerMethods, DocumentWorkerSettings } from './worker.ts';

export interface DocumentWorkersOptions extends DocumentWorkerSettings {
  /** Most processes at once, and how long an idle one is kept. */
  readonly processes: number;
  readonly idleSeconds: number;
  readonly log: Log;
}

/** What a process gets at its start. */
export interface DocumentWorkerStart extends DocumentWorkerSettings {
  /** Where the server keeps compiled code; null: nowhere. */
  readonly compileCache: string | null;
}

/** The server's side of a worker process. */
export interface DocumentWorker extends Pick<Thread<DocumentWorkerMethods>, 'call'>, AsyncDisposable {
  /** Asks it to stop what it does; if it does not react, it is killed. */
  kill(cause: unknown): void;
}

const documentWorkerFile = new URL(`./worker-process${extname(import.meta.filename)}`, import.meta.url);

/**
 * Processes that build documents, each with converters of its own. A hostile text can keep one busy or use all its
 * memory; the server goes on meanwhile. When the signal fires, the work stops.
 */
export function openDocumentWorkers({ processes, idleSeconds, log, ...settings }: DocumentWorkersOptions) {
  const { memoryBytes } = settings;
  const start: DocumentWorkerStart = { ...settings, compileCache: getCompileCacheDir() ?? null };
  const open = (): DocumentWorker =>
    createStoppableWorker(
      createHelperProcess<DocumentWorkerMethods>(documentWorkerFile, start, log, { memoryBytes }),
    );
  const pool = createProcessPool({ most: processes, idleMs: idleSeconds * 1000, open });
  return {
    async use<T>(work: (worker: DocumentWorker) => Promise<T>, signal: AbortSignal): Promise<T> {
      try {
        return await pool.use(work, signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!ranOutOfMemory(error)) throw error;
        const message =
          'Building the document took more memory than --document-memory allows. Make the document smaller.';
        throw new WorkcrateError('document_failed', message, { cause: error });
      }
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** Grace period in which it ends its converters, which could outlive it otherwise. */
const workerGraceMs = 150;

function createStoppableWorker(thread: Thread<DocumentWorkerMethods>): DocumentWorker {
  let session = { stop: new AbortController(), calls: 0 };
  return {
    call(name, argument, options) {
      const own = session;
      own.calls++;
      const answer = thread.call(name, argument, { ...options, signal: own.stop.signal });
      return answer.finally(() => own.calls--);
    },
    kill(cause) {
      const ended = session;
      session = { stop: new AbortController(), calls: 0 };
      ended.stop.abort();
      setTimeout(() => ended.calls > 0 && thread.kill(cause), workerGraceMs);
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

export type DocumentWorkers = ReturnType<typeof openDocumentWorkers>;
