import { WorkcrateError } from '../../errors.ts';

export interface TurnLimits {
  /** Under way at a time. */
  readonly most: number;
  readonly mostOfViewer: number;
  /** Waiting, of one viewer. */
  readonly mostWaiting: number;
}

const usual: TurnLimits = { most: 16, mostOfViewer: 4, mostWaiting: 50 };

/**
 * Does a viewer's work when it is their turn. `too_many_requests` where too much of theirs waits already; who is
 * cancelled while waiting waits no longer.
 */
export type Turns = <T>(viewer: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/** Of one viewer: how many are under way, and who waits, in the order of asking. */
interface Line {
  underWay: number;
  readonly waiting: Set<() => void>;
}

/** Viewers take turns, whatever each of them asks for: nobody waits for all that another has asked for before. */
export function createTurns(limits: Partial<TurnLimits> = {}): Turns {
  const { most, mostOfViewer, mostWaiting } = { ...usual, ...limits };
  // In the order of their turns; a line that is empty is forgotten.
  const lines = new Map<string, Line>();
  let underWay = 0;

  const standBehind = (viewer: string, line: Line): void => {
    lines.delete(viewer);
    lines.set(viewer, line);
  };
  const begin = (viewer: string, line: Line): void => {
    underWay++;
    line.underWay++;
    standBehind(viewer, line);
  };
  const forget = (viewer: string, line: Line): void => {
    const isEmpty = line.underWay === 0 && line.waiting.size === 0;
    if (isEmpty && lines.get(viewer) === line) lines.delete(viewer);
  };
  /** Hands the place over in the same breath, so that nobody slips in between. */
  const end = (viewer: string, line: Line): void => {
    underWay--;
    line.underWay--;
    standBehind(viewer, line);
    forget(viewer, line);
    for (const [other, { underWay: own, waiting }] of lines) {
      if (waiting.size === 0 || own >= mostOfViewer) continue;
      const [enter] = waiting;
      begin(other, lines.get(other)!);
      return enter!();
    }
  };

  return async (viewer, signal, work) => {
    signal.throwIfAborted();
    const line = lines.get(viewer) ?? { underWay: 0, waiting: new Set() };
    if (line.waiting.size >= mostWaiting) throw tooMany(line);
    lines.set(viewer, line);
    if (underWay < most && line.underWay < mostOfViewer) begin(viewer, line);
    else await turn(line, signal).finally(() => forget(viewer, line));
    try {
      return await work();
    } finally {
      end(viewer, line);
    }
  };
}

/** Settles when it is one's turn, or with the signal. */
function turn({ waiting }: Line, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const gone = (): void => {
    waiting.delete(enter);
    signal.removeEventListener('abort', cancel);
  };
  const enter = (): void => {
    gone();
    resolve();
  };
  const cancel = (): void => {
    gone();
    reject(signal.reason as Error);
  };
  waiting.add(enter);
  signal.addEventListener('abort', cancel);
  return promise;
}

const tooMany = ({ underWay: running, waiting: { size: queued } }: Line): WorkcrateError =>
  new WorkcrateError(
    'too_many_requests',
    `Too many searches wait. Of yours, ${running} are under way and ${queued} wait. Try again in a while.`,
    { details: { running, queued } },
  );
