/**
 * The timer that deletes what has expired. What has expired, and how it is deleted, each room knows itself (`sweep`).
 * The audit log sweeps its own files (`core/audit/open.ts`).
 */
import type { Executions } from '../core/runs/executions.ts';
import type { Files } from '../core/files/files.ts';
import type { Links, Uploads } from '../core/links/links.ts';
import type { Tasks } from '../surfaces/mcp/tasks/tasks.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Packages } from '../features/packages/packages.ts';
import type { Sessions } from '../core/runs/sessions/sessions.ts';

export interface SweeperOptions {
  readonly files: Pick<Files, 'sweep'>;
  readonly links: Pick<Links, 'sweep'>;
  readonly uploads: Pick<Uploads, 'sweep'>;
  readonly executions: Pick<Executions, 'sweep'>;
  readonly sessions: Pick<Sessions, 'sweep'>;
  readonly tasks: Pick<Tasks, 'sweep'>;
  readonly packages: Pick<Packages, 'sweep'> | null;
  readonly metrics: Pick<Metrics, 'sweepDone'>;
  readonly log: Log;
  readonly intervalSeconds: number;
}

/** Deletes what has expired, every so often: files and their bytes first, then links, uploads, records of runs, tasks. */
export function startSweeper({
  files,
  links,
  uploads,
  executions,
  sessions,
  tasks,
  packages,
  metrics,
  log,
  intervalSeconds,
}: SweeperOptions) {
  let running: Promise<void> | null = null;

  /** A part that fails is logged, and keeps neither the other parts nor the next sweep from being done. */
  async function sweepPart<T>(sweepOne: () => Promise<T>): Promise<T | null> {
    try {
      return await sweepOne();
    } catch (error) {
      log.error('sweep.failed', { error });
      return null;
    }
  }

  async function sweep(): Promise<void> {
    // On a full disk only this one can free space by itself, and the others need some.
    const swept = await sweepPart(() => files.sweep());
    const sweptLinks = await sweepPart(() => links.sweep());
    const sweptUploads = await sweepPart(() => uploads.sweep());
    const sweptRecords = await sweepPart(() => executions.sweep());
    const sweptSessions = await sweepPart(() => sessions.sweep());
    const sweptTasks = await sweepPart(() => tasks.sweep());
    const sweptPackages = await sweepPart(async () => packages?.sweep() ?? 0);
    if (swept === null || sweptLinks === null || sweptUploads === null || sweptRecords === null) return;
    if (sweptSessions === null || sweptTasks === null || sweptPackages === null) return;
    const counts = {
      links: sweptLinks,
      uploads: sweptUploads,
      files: swept,
      ...sweptRecords,
      tasks: sweptTasks,
    };
    metrics.sweepDone(counts);
    log.info('sweep.done', counts);
  }

  /** One at a time. */
  function sweepSoon(): Promise<void> {
    running ??= sweep().finally(() => (running = null));
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
