/**
 * One sync for everybody who asks for it meanwhile: whoever comes later joins the one that is under way, hears its
 * progress and gets its result. It goes on until the last of them has left. That one process syncs at a time is decided
 * by the lease in `sync.ts`.
 */
import type { SourceReport, SyncRequest } from './sync.ts';

export interface SyncResult {
  readonly reports: readonly SourceReport[];
  /** Whether it had begun before it was asked for: what was added since may not be in it. */
  readonly joined: boolean;
}

interface RunningSync {
  readonly forget: boolean;
  readonly stop: AbortController;
  readonly followers: Set<Pick<SyncRequest, 'report'>>;
  readonly done: Promise<SourceReport[]>;
}

export function createSharedSync(start: (request: SyncRequest) => Promise<SourceReport[]>) {
  let running: RunningSync | null = null;

  function begin(forget: boolean): RunningSync {
    const stop = new AbortController();
    const followers: RunningSync['followers'] = new Set();
    const report = (progress: SourceReport): void => {
      for (const follower of followers) follower.report(progress);
    };
    const done = start({ signal: stop.signal, forget, report }).finally(() => (running = null));
    return { forget, stop, followers, done };
  }

  /** The sync that has to end first: one that is ending, or that leaves out what is asked for, cannot be joined. */
  const findObstacle = (forget: boolean): RunningSync | null =>
    running !== null && (running.stop.signal.aborted || (forget && !running.forget)) ? running : null;

  return async function sync(request: SyncRequest): Promise<SyncResult> {
    request.signal.throwIfAborted();
    for (let first = findObstacle(request.forget); first !== null; first = findObstacle(request.forget))
      await Promise.allSettled([first.done]);
    request.signal.throwIfAborted();
    const joined = running !== null;
    running ??= begin(request.forget);
    return { reports: await follow(running, request), joined };
  };
}

/** The result of a sync. If it is cancelled for one follower, the others keep it; the last one to leave ends it. */
async function follow(sync: RunningSync, request: SyncRequest): Promise<SourceReport[]> {
  const { signal } = request;
  const follower = { report: request.report };
  const left = Promise.withResolvers<never>();
  const leave = (): void => {
    sync.followers.delete(follower);
    if (sync.followers.size > 0) left.reject(signal.reason);
    else sync.stop.abort(signal.reason);
  };
  sync.followers.add(follower);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([sync.done, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
    sync.followers.delete(follower);
  }
}
