import type { Executions } from './executions/executions.ts';
import type { Files } from './files/files.ts';
import type { Links, Uploads } from './links/links.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export interface SweeperOptions {
  readonly files: Files;
  readonly links: Links;
  readonly uploads: Uploads;
  readonly executions: Executions;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly intervalSeconds: number;
}

/** Deletes what has expired, every so often: files and their bytes first, then links, uploads, records of runs. */
export function startSweeper({
  files,
  links,
  uploads,
  executions,
  metrics,
  log,
  intervalSeconds,
}: SweeperOptions) {
  let running: Promise<void> | null = null;

  async function sweep(): Promise<void> {
    // On a full disk only this one can free space by itself, and the others need some.
    const swept = await files.sweep();
    const counts = {
      links: await links.sweep(),
      uploads: await uploads.sweep(),
      files: swept,
      ...(await executions.sweep()),
    };
    metrics.sweepDone(counts);
    log.info('sweep.done', counts);
  }

  /** One at a time. A sweep that fails is logged, and the next one comes all the same. */
  function sweepSoon(): Promise<void> {
    running ??= sweep()
      .catch((error: unknown) => log.error('sweep.failed', { error }))
      .finally(() => (running = null));
    return running;
  }

  const timer = setInterval(() => void sweepSoon(), intervalSeconds * 1000).unref();
  return {
    sweepSoon,
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer);
      await running;
    },
  };
}
