/**
 * Ends a run from outside: after its timeout, when it is cancelled, or at once when it exceeds a limit. What has to be
 * signalled the backend knows.
 */
import type { RunClock } from './run-clock.ts';

/** Why a run is stopped from outside. */
export type StopReason = 'timeout' | 'cancelled' | 'disk' | 'oom' | 'pids' | 'lost';

export interface StopperOptions {
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** The timeout does not come nearer while it stands still. */
  readonly clock?: RunClock | undefined;
  /** Cancels the run. */
  readonly signal: AbortSignal;
  /** SIGTERM to every process of the run. Called at most once. The grace begins when it has been sent. */
  term(): void | Promise<void>;
  /** SIGKILL to every process of the run. Called at most once: when the grace is over, or by `killNow`. */
  kill(): void;
}

/** Disposed when the run has ended. Nothing is called after that. */
export interface Stopper extends Disposable {
  /** Why the run was stopped, or null if it was not. The first reason stays. */
  readonly reason: StopReason | null;
  /** Begins to stop, as the timeout and the signal do by themselves. */
  stop(reason: StopReason): void;
  /** Kills at once, without grace: the sandbox is closed, or the run has exceeded a limit. */
  killNow(reason: StopReason): void;
}

/** How long SIGTERM may take to be sent, where somebody else does that, such as an engine that is busy. */
const maxSendingMs = 5000;

/** Kills a run after its timeout, or once it is cancelled: SIGTERM, the grace, SIGKILL. The clock starts with the call. */
export function createStopper(options: StopperOptions): Stopper {
  const { timeoutMs, graceMs, clock, signal, term, kill } = options;
  let reason: StopReason | null = null;
  let over = false;
  let leftMs = timeoutMs;
  let countsSince = performance.now();
  let timer = setTimeout(() => stop('timeout'), leftMs);
  const cancel = () => stop('cancelled');
  signal.addEventListener('abort', cancel, { once: true });

  const end = () => {
    over = true;
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
  };
  const killNow = (why: StopReason) => {
    if (over) return;
    reason ??= why;
    end();
    kill();
  };
  const stop = (why: StopReason) => {
    if (over || reason !== null) return;
    reason = why;
    const killIn = (ms: number): void => {
      if (over) return;
      clearTimeout(timer);
      timer = setTimeout(() => killNow(why), ms);
    };
    killIn(graceMs + maxSendingMs);
    const sending = term();
    if (sending === undefined) killIn(graceMs);
    else void sending.finally(() => killIn(graceMs));
  };

  clock?.watch((isHeld) => {
    if (over || reason !== null) return;
    clearTimeout(timer);
    const now = performance.now();
    if (isHeld) leftMs -= now - countsSince;
    else timer = setTimeout(() => stop('timeout'), leftMs);
    countsSince = now;
  });
  if (signal.aborted) cancel();
  return {
    get reason() {
      return reason;
    },
    stop,
    killNow,
    [Symbol.dispose]: end,
  };
}
