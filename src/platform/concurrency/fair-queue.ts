/**
 * A fair queue: a semaphore whose places users share, so that nobody waits for all that another has asked for before.
 * It does not cancel what runs, does not weigh what is asked for (`features/crates/sources/memory.ts` does, by bytes), and
 * counts within this process alone.
 */

/** How many run at once. */
export interface FairLimits {
  readonly most: number;
  /** Of these, the most of one user. */
  readonly mostOfUser: number;
}

/** Where there are several users, the last place is left to others, so that nobody waits for all that one has begun. */
export function toFairLimits(most: number, hasUsers: boolean): FairLimits {
  return { most, mostOfUser: hasUsers ? Math.max(1, most - 1) : most };
}

/** The errors of those who do not get a place. */
export interface Refusals {
  /** Too many wait already. The figures are those of the one who asked. */
  busy(running: number, queued: number): Error;
  /** The one who asked does not want it any more. */
  cancelled(signal: AbortSignal): unknown;
  /** Nobody gets a place any more. */
  closed(): Error;
}

type Order = 'fewest' | 'rotation';

export interface FairQueueOptions extends FairLimits {
  /**
   * How many wait at most, of each user. Without it ten times as many wait as may run, of all users together; where no
   * more can wait, whoever has fewer waiting takes the place of the latest of whoever has the most.
   */
  readonly mostWaitingOfUser?: number;
  /**
   * Who gets the next place. `fewest`: the user who has the fewest; those who have as many take turns. `rotation`: the
   * user for whom it is longest ago that anything began or ended.
   */
  readonly order?: Order;
  readonly refusals: Refusals;
}

export interface QueueRequest {
  readonly user: string;
  readonly signal: AbortSignal;
}

export interface FairQueue {
  running(): number;
  queued(): number;
  /** A place, to be given back once; or one of the refusals. */
  enter(asking: QueueRequest): Promise<() => void>;
  /** Has a place while `work` runs. */
  run<T>(asking: QueueRequest, work: () => Promise<T>): Promise<T>;
  /** Sends away all who wait, and all who come later. */
  close(): void;
}

interface Waiter {
  enter(): void;
  refuse(error: unknown): void;
}

/** Of one user: how many run, and who waits, in the order of asking. */
interface UserLine {
  running: number;
  readonly waiting: Set<Waiter>;
}

/** How many wait at most, as a multiple of those that run. */
const waitingPerPlace = 10;

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { most, mostOfUser, mostWaitingOfUser, order = 'fewest', refusals } = options;
  // In the order of their turns. A line that is empty is forgotten.
  const lines = new Map<string, UserLine>();
  let [running, queued, isClosed] = [0, 0, false];

  const moveBack = (user: string, line: UserLine): void => {
    lines.delete(user);
    lines.set(user, line);
  };
  const forgetIfEmpty = (user: string, line: UserLine): void => {
    if (line.running === 0 && line.waiting.size === 0) lines.delete(user);
  };
  const begin = (user: string, line: UserLine): void => {
    running++;
    line.running++;
    if (order === 'rotation') moveBack(user, line);
  };

  /** A place is passed on at once when its holder ends, so that nobody slips in between. */
  const leave = (user: string): void => {
    const line = lines.get(user)!;
    running--;
    line.running--;
    if (order === 'rotation') moveBack(user, line);
    forgetIfEmpty(user, line);
    const next = findNext(lines, mostOfUser, order);
    if (next === null) return;
    const nextLine = lines.get(next)!;
    begin(next, nextLine);
    moveBack(next, nextLine);
    const [waiter] = nextLine.waiting;
    waiter!.enter();
  };

  /** The one who gives way, if anybody, is told of its own figures alone, as is the one who finds no place. */
  const makeRoom = (line: UserLine): void => {
    const own = line.waiting.size;
    if (mostWaitingOfUser !== undefined) {
      if (own >= mostWaitingOfUser) throw refusals.busy(line.running, own);
      return;
    }
    if (queued < most * waitingPerPlace) return;
    const longest = findLongest(lines.values());
    if (longest.waiting.size <= own + 1) throw refusals.busy(line.running, own);
    const latest = [...longest.waiting].at(-1)!;
    latest.refuse(refusals.busy(longest.running, longest.waiting.size - 1));
  };

  const wait = (user: string, line: UserLine, signal: AbortSignal): Promise<void> => {
    if (order === 'fewest' && line.waiting.size === 0) moveBack(user, line);
    else lines.set(user, line);
    queued++;
    return addWaiter(line, signal, refusals, () => {
      queued--;
      forgetIfEmpty(user, line);
    });
  };

  /** Null where there is a place at once, so that no promise is made. */
  const admit = ({ user, signal }: QueueRequest): Promise<void> | null => {
    if (isClosed) throw refusals.closed();
    if (signal.aborted) throw refusals.cancelled(signal);
    const line = lines.get(user) ?? { running: 0, waiting: new Set() };
    if (running >= most || line.running >= mostOfUser) {
      makeRoom(line);
      return wait(user, line, signal);
    }
    lines.set(user, line);
    begin(user, line);
    return null;
  };

  return {
    running: () => running,
    queued: () => queued,
    async enter(asking) {
      const admission = admit(asking);
      if (admission !== null) await admission;
      return runOnce(() => leave(asking.user));
    },
    async run(asking, work) {
      const admission = admit(asking);
      if (admission !== null) await admission;
      try {
        return await work();
      } finally {
        leave(asking.user);
      }
    },
    close() {
      isClosed = true;
      for (const { waiting } of lines.values())
        for (const waiter of waiting) waiter.refuse(refusals.closed());
    },
  };
}

/** The user who gets the next place. Null where nobody waits, or only who has enough already. */
function findNext(lines: ReadonlyMap<string, UserLine>, mostOfUser: number, order: Order): string | null {
  let [next, fewest] = [null as string | null, mostOfUser];
  for (const [user, line] of lines) {
    if (line.waiting.size === 0 || line.running >= fewest) continue;
    if (order === 'rotation') return user;
    [next, fewest] = [user, line.running];
  }
  return next;
}

/** Settles when it is one's turn, or with a refusal. Nobody waits any more when `gone` is called. */
function addWaiter(
  { waiting }: UserLine,
  signal: AbortSignal,
  { cancelled }: Refusals,
  gone: () => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stopWaiting = (): void => {
    waiting.delete(waiter);
    signal.removeEventListener('abort', cancel);
    gone();
  };
  const waiter: Waiter = {
    enter() {
      stopWaiting();
      resolve();
    },
    refuse(error) {
      stopWaiting();
      reject(error);
    },
  };
  const cancel = (): void => waiter.refuse(cancelled(signal));
  waiting.add(waiter);
  signal.addEventListener('abort', cancel);
  return promise;
}

/** The first of those that are equally long. */
const findLongest = (lines: Iterable<UserLine>): UserLine =>
  [...lines].reduce((longest, line) => (line.waiting.size > longest.waiting.size ? line : longest));

/** A place that is given back twice would be one too many. */
function runOnce(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
