/**
 * The runs of this server that are under way: whether they go on without the call that began them, what they printed so
 * far, and how they are cancelled. It runs nothing (`execute.ts` does) and keeps no record (`store.ts` does).
 */
import type { Background, CancelledBy, Execution } from './fields.ts';
import type { EndedExecution, RunControl } from './execute.ts';
import { createLiveOutput, type LiveOutput } from './live-output.ts';

/** A run that is recorded, and is waiting in the queue or running. It needs nobody who waits for it. */
export interface LiveRun {
  readonly id: string;
  /** As it was when it began. */
  readonly begun: Execution;
  /** Its result. Rejects where it could not be started; then its record says why. */
  readonly ended: Promise<EndedExecution>;
  /** What it printed so far, stdout and stderr as they came. */
  readonly output: Pick<LiveOutput, 'read'>;
  /** Why it goes on without the call that began it; null while it belongs to that call. */
  readonly background: Background | null;
  /** Lets it go on without the call that began it. Resolves when that is in its row. */
  moveToBackground(why: Background): Promise<void>;
  /** Ends it, also in the queue: SIGTERM, grace, SIGKILL. The first to cancel is named in the record. */
  cancel(by: CancelledBy): void;
}

/** What a run under way is to the code that executes it. */
export interface RunUnderWay extends Pick<RunControl, 'progress'> {
  readonly id: string;
  readonly background: Background | null;
  readonly cancelledBy: CancelledBy | null;
  /** Fires when it is to end. */
  readonly signal: AbortSignal;
  readonly output: LiveOutput;
  /** Ends it because it cannot be recorded. */
  stop(): void;
  /** Called once its row is durable. */
  begun(execution: Execution): void;
}

export interface LiveRunOptions {
  readonly id: string;
  readonly control: RunControl;
  /** Writes to its row why it goes on without its call. */
  readonly record: (id: string, why: Background) => Promise<void>;
}

/** One run under way, as its executor and as the others see it. */
export function createLiveRun({ id, control, record }: LiveRunOptions) {
  const stopping = new AbortController();
  const output = createLiveOutput();
  const { promise: durable, resolve: begun } = Promise.withResolvers<Execution>();
  let background = control.background ?? null;
  let cancelledBy: CancelledBy | null = null;
  const underWay: RunUnderWay = {
    id,
    output,
    progress: control.progress,
    signal: AbortSignal.any([control.signal, stopping.signal]),
    get background() {
      return background;
    },
    get cancelledBy() {
      return cancelledBy;
    },
    stop: () => stopping.abort(),
    begun,
  };
  return {
    underWay,
    /** Resolves once its row is durable; rejects where nothing was recorded. */
    async follow(ended: Promise<EndedExecution>): Promise<LiveRun> {
      const first = await Promise.race([durable, ended]);
      return {
        id,
        begun: 'execution' in first ? first.execution : first,
        ended,
        output,
        get background() {
          return background;
        },
        async moveToBackground(why) {
          if (background !== null) return;
          background = why;
          await record(id, why);
        },
        cancel(by) {
          cancelledBy ??= by;
          stopping.abort();
        },
      };
    },
    cancel(by: CancelledBy): void {
      cancelledBy ??= by;
      stopping.abort();
    },
  };
}
