import { createLog } from '../../../platform/observability/log.ts';
import { openPandoc, type Pandoc } from '../pandoc/pandoc.ts';

/** One for all tests of a file: starting costs seconds. */
export const openTestPandoc = (): Pandoc =>
  openPandoc({
    command: null,
    memoryBytes: 1_000_000_000,
    processes: 1,
    idleSeconds: 60,
    epoch: null,
    log: createLog('off'),
  });

export const never: AbortSignal = new AbortController().signal;
