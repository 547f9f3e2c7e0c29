import type { Thread } from '../../threads/threads.ts';
import { refused, warningsIn } from './complaints.ts';
import type { InstanceOptions } from './instance.ts';
import type { WorkerMethods } from './pandoc-worker.ts';
import type { PandocJob, PandocResult } from './pandoc.ts';

/** What the process is given. */
export interface ProcessSettings extends InstanceOptions {
  readonly wasm: string;
  readonly shim: string;
}

/** After which a thread is replaced: its memory only ever grows, and nobody knows what a long life does to it. */
const mostConversions = 200;
const mostMemory = 256 * 1024 ** 2;

/** What is done in the process that holds Pandoc: one conversion at a time, in a thread that is replaced now and then. */
export function createConverting(open: () => Promise<Thread<WorkerMethods>>) {
  let thread: Promise<Thread<WorkerMethods>> | null = null;
  let conversions = 0;

  function recycle(): void {
    void thread?.then((old) => old[Symbol.asyncDispose]());
    [thread, conversions] = [null, 0];
  }

  return {
    async convert(job: PandocJob): Promise<PandocResult> {
      thread ??= open();
      let isSpent = true;
      try {
        const { output, complaint, log, memoryBytes } = await (await thread).call('convert', job);
        isSpent = ++conversions >= mostConversions || memoryBytes > mostMemory;
        if (complaint !== '') throw refused(complaint);
        return { output, warnings: warningsIn(log) };
      } finally {
        if (isSpent) recycle();
      }
    },
  };
}

export type PandocMethods = ReturnType<typeof createConverting>;
