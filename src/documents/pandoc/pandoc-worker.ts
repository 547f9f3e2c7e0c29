import { workerData } from 'node:worker_threads';
import { answerCalls, outerLog } from '../../workers/inside.ts';
import {
  openInstance,
  type Converted,
  type InstanceOptions,
  type Shim,
  type WasmModule,
} from './instance.ts';
import { broke, lacksMemory } from './job.ts';
import type { PandocJob } from './pandoc.ts';

/** What the thread is given: the module was compiled by the process, for all its threads. */
export interface WorkerSettings extends InstanceOptions {
  readonly module: WasmModule;
  /** Where the imitation of a system is, as a URL. */
  readonly shim: string;
}

const { module, shim, ...options } = workerData as WorkerSettings;
const instance = await openInstance(module, (await import(shim)) as Shim, options);
const log = outerLog();

const methods = {
  async convert(job: PandocJob): Promise<Converted & { readonly memoryBytes: number }> {
    try {
      return { ...instance.convert(job), memoryBytes: instance.memoryBytes };
    } catch (error) {
      if (/out of memory|heap (?:exhausted|overflow)/i.test(String(error)))
        throw lacksMemory(options.memoryBytes);
      log.warn('pandoc.failed', { error });
      throw broke(error);
    }
  },
};

export type WorkerMethods = typeof methods;

answerCalls(methods);
