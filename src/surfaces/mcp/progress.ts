/**
 * The progress messages of one call: what its tool reports, and a sign of life where it reports nothing, so that no
 * client takes a silent call for a dead one. Clients that gave no progress token get comments on their stream instead,
 * which the SDK sends (`http.ts` sets how often).
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { Log } from '../../platform/observability/log.ts';
import type { ToolContext } from '../../core/offer/tool.ts';

/** Clients give up after 60 s of silence, some after 30. */
export const usualAliveMs = 10_000;

export interface ProgressOptions {
  /** How long a call may be silent before its client gets a sign of life. */
  readonly aliveMs: number;
  readonly log: Log;
}

export interface CallProgress extends Disposable {
  readonly report: ToolContext['progress'];
}

export const noProgress: CallProgress = { report: () => {}, [Symbol.dispose]: () => {} };

/** Starts the progress messages of a call; disposing of it ends them. Without a progress token there are none. */
export function startProgress(
  { notify, _meta, signal }: ServerContext['mcpReq'],
  { aliveMs, log }: ProgressOptions,
): CallProgress {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return noProgress;
  const started = performance.now();
  let last: { readonly progress: number; readonly total: number | null } | null = null;
  let isOver = false;

  function send(progress: number, total: number | null, message: string | undefined): void {
    last = { progress, total };
    const params = {
      progressToken,
      progress,
      ...(total === null ? {} : { total }),
      ...(message ? { message } : {}),
    };
    notify({ method: 'notifications/progress', params }).catch((error: unknown) =>
      log.debug('progress.not_sent', { error }),
    );
  }

  const timer = setInterval(() => {
    if (signal.aborted) return;
    const progress = stepAfter(last?.progress ?? 0);
    const total = last?.total ?? null;
    const seconds = Math.round((performance.now() - started) / 1000);
    send(progress, total !== null && progress < total ? total : null, `running, ${seconds} s`);
  }, aliveMs);

  return {
    report(done, total, message) {
      if (isOver || signal.aborted) return;
      const isHigher = last === null || done > last.progress;
      send(isHigher ? done : stepAfter(last!.progress), total, message);
      timer.refresh();
    },
    [Symbol.dispose]() {
      isOver = true;
      clearInterval(timer);
    },
  };
}

/**
 * A little more than `progress`, and less than its next whole number: MCP wants every value to be higher than the one
 * before, and tools count in whole numbers. From 2 it goes 2 1/2, 2 2/3, 2 3/4 and so on.
 */
export function stepAfter(progress: number): number {
  const whole = Math.floor(progress);
  const left = whole + 1 - progress;
  const next = whole + 1 - left / (left + 1);
  // Of large numbers the steps in between are soon used up.
  return next > progress ? next : whole + 1;
}
