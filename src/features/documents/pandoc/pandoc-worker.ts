import { workerData } from 'node:worker_threads';
import { answerCalls, getParentLog } from '../../../platform/workers/inside.ts';
import {
  openPandocInstance,
  type PandocConversion,
  type PandocInstanceOptions,
  type WasiShim,
  type WasmModule,
} from './instance.ts';
import { pandocFailedError, pandocMemoryError } from './job.ts';
import type { PandocJob } from './pandoc.ts';

/** What the thread is given: the module was compiled by the process, for all its threads. */
export interface PandocWorkerSettings extends PandocInstanceOptions {
  readonly module: WasmModule;
  /** URL of the WASI shim. */
  readonly shim: string;
}

const { module, shim, ...options } = workerData as PandocWorkerSettings;
const pandocInstance = await openPandocInstance(module, (await import(shim)) as WasiShim, options);
const pandocWorkerLog = getParentLog();

const pandocWorkerMethods = {
  async convert(job: PandocJob): Promise<PandocConversion & { readonly memoryBytes: number }> {
    try {
      return { ...pandocInstance.convert(job), memoryBytes: pandocInstance.memoryBytes };
    } catch (error) {
      if (/out of memory|heap (?:exhausted|overflow)/i.test(String(error)))
        throw pandocMemoryError(options.memoryBytes);
      pandocWorkerLog.warn('pandoc.failed', { error });
      throw pandocFailedError(error);
    }
  },
};

export type PandocWorkerMethods = typeof pandocWorkerMethods;

answerCalls(pandocWorkerMethods);
