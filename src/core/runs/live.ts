/**
 * One run that is under way: whether it goes on without the call that began it, what it printed so far, and how it is
 * cancelled. All of them are in `live-runs.ts`. It runs nothing (`execute.ts` does) and keeps no record (`store.ts`).
 */
import type { EndedExecution, RunControl } from './execute.ts';
import type { Background, CancelledBy, Execution } from './fields.ts';
import { createRunQuestions, type RunQuestions } from './questions.ts';
import { createLiveOutput, type LiveOutput } from './output.ts';

/** A run that is recorded, and is waiting in the queue or running. It needs nobody who waits for it. */
export interface LiveRun {
  readonly id: string;
  /** As it was when it began. */
  readonly begun: Execution;
  /** Its result. Rejects where it could not be started; then its record says why. */
  readonly ended: Promise<EndedExecution>;
  /** What it printed so far, stdout and stderr as they came. */
  readonly output: Pick<LiveOutput, 'read' | 'readPieces' | 'isOver' | 'watch'>;
  /** Why it goes on without the call that began it; null while it belongs to that call. */
  readonly background: Background | null;
  /** What its code waits for a person to answer. */
  readonly questions: RunQuestions;
  /** Lets it go on without the call that began it. Resolves when that is in its row. */
  moveToBackground(why: Background): Promise<void>;
  /** Its call has lost its connection: it ends, unless somebody of its user asks for it in time. */
  leave(): void;
  /** Ends it, also in the queue: SIGTERM, grace, SIGKILL. The first to cancel is named in the record. */
  cancel(by: CancelledBy): void;
}

/** One output of a run so far, as it would be recorded. */
export interface OutputSoFar {
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

export type OutputsSoFar = Readonly<Record<'stdout' | 'stderr', OutputSoFar>>;

/** What a run under way is to the code that executes it. */
export interface RunUnderWay extends Pick<RunControl, 'progress'> {
  readonly id: string;
  readonly background: Background | null;
  readonly cancelledBy: CancelledBy | null;
  /** Fires when it is to end. */
  readonly signal: AbortSignal;
  readonly output: LiveOutput;
  readonly questions: RunQuestions;
  /** Is told how to read what would be recorded of its outputs, once they are being read. */
  watchOutputs(read: () => OutputsSoFar): void;
  /** Ends it because it cannot be recorded. */
  stop(): void;
  /** It is going to be recorded: from here on only who cancels it ends it. */
  endPreparation(): void;
  /** Called once its row is durable. */
  begun(execution: Execution): void;
}

export interface LiveRunOptions {
  readonly id: string;
  readonly control: RunControl;
  /** How long it goes on without its call and its connection if nobody asks for it. */
  readonly orphanGraceMs: number;
  /** How long a person may take to answer a question of it. */
  readonly askMs: number;
  /** Writes to its row why it goes on without its call. */
  readonly record: (id: string, why: Background) => Promise<void>;
  /** Forgets that another server was asked for it. */
  readonly forgetAsking: (id: string) => Promise<void>;
  /** Whether another server was asked for it since. */
  readonly wasAskedFor: (id: string) => Promise<boolean>;
}

export type LiveRunControl = ReturnType<typeof createLiveRun>;

/** One run under way, as its executor and as the others see it. */
export function createLiveRun(options: LiveRunOptions) {
  const { id, control, orphanGraceMs, askMs, record } = options;
  const stopping = new AbortController();
  const cancellation = linkAbort(control.signal, stopping);
  const preparation = linkAbort(control.preparing, stopping);
  const output = createLiveOutput();
  const { promise: durable, resolve: begun } = Promise.withResolvers<Execution>();
  let background = control.background ?? null;
  let cancelledBy: CancelledBy | null = null;
  let orphanTimer: NodeJS.Timeout | null = null;
  let readOutputs: (() => OutputsSoFar) | null = null;
  let savedTo = 0;

  function cancel(by: CancelledBy): void {
    cancelledBy ??= by;
    stopping.abort();
  }

  async function moveToBackground(why: Background): Promise<void> {
    clearTimeout(orphanTimer ?? undefined);
    if (background !== null) return;
    background = why;
    try {
      await record(id, why);
    } catch (error) {
      background = null;
      throw error;
    }
  }

  function leave(): void {
    if (background !== null || orphanTimer !== null) return;
    if (orphanGraceMs === 0) return cancel('lost_connection');
    // Where that fails, an earlier question counts as one that came in time: rather too long a run than one lost.
    options.forgetAsking(id).catch(() => {});
    orphanTimer = setTimeout(() => void endOrphan(), orphanGraceMs).unref();
  }

  async function endOrphan(): Promise<void> {
    const isWanted = await options.wasAskedFor(id).catch(() => false);
    if (background !== null) return;
    if (isWanted) await moveToBackground('adopted').catch(() => cancel('lost_connection'));
    else cancel('lost_connection');
  }

  const questions = createRunQuestions({
    isAttended: background === null,
    timeoutMs: askMs,
    abandoned: leave,
  });
  const underWay: RunUnderWay = {
    id,
    output,
    questions,
    progress: control.progress,
    signal: stopping.signal,
    get background() {
      return background;
    },
    get cancelledBy() {
      return cancelledBy;
    },
    watchOutputs: (read) => void (readOutputs = read),
    stop: () => stopping.abort(),
    endPreparation: () => preparation[Symbol.dispose](),
    begun,
  };
  return {
    underWay,
    output,
    cancel,
    get background() {
      return background;
    },
    /** Somebody of its user asked for it. */
    async askFor(): Promise<void> {
      if (orphanTimer !== null) await moveToBackground('adopted');
    },
    /** What it printed, if that is more than the last time that this was called. */
    takeNewOutputs(): OutputsSoFar | null {
      const { end } = output.read(0, 0);
      if (readOutputs === null || end === savedTo) return null;
      savedTo = end;
      return readOutputs();
    },
    /** Resolves once its row is durable; rejects where nothing was recorded. */
    async follow(ended: Promise<EndedExecution>): Promise<LiveRun> {
      const first = await Promise.race([durable, ended]);
      return {
        id,
        begun: 'execution' in first ? first.execution : first,
        ended,
        output,
        questions,
        get background() {
          return background;
        },
        moveToBackground,
        leave,
        cancel,
      };
    },
    /** It is over. */
    [Symbol.dispose]() {
      clearTimeout(orphanTimer ?? undefined);
      cancellation[Symbol.dispose]();
      preparation[Symbol.dispose]();
    },
  };
}

/** Aborts with a signal, until that is disposed of. */
function linkAbort(signal: AbortSignal | undefined, controller: AbortController): Disposable {
  const abort = (): void => controller.abort(signal!.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', abort) };
}
