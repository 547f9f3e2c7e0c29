import type { WorkcrateError } from './errors.ts';

/** How many wait at most, as a multiple of those that have a place. */
const waitingPerPlace = 10;

/** What those are told who do not get a place. */
export interface Refusals {
  /** Too many wait already. The figures are those of the one who asked. */
  busy(running: number, queued: number): WorkcrateError;
  /** The one who asked does not want it any more. */
  cancelled(): WorkcrateError;
  /** Nobody gets a place any more. */
  closed(): WorkcrateError;
}

export interface Asking {
  readonly user: string;
  readonly signal: AbortSignal;
}

export interface Turns {
  running(): number;
  queued(): number;
  /** A place, to be given back once; or one of the refusals. */
  enter(asking: Asking): Promise<() => void>;
  /** Sends away all who wait, and all who come later. */
  close(): void;
}

interface Waiter {
  enter(): void;
  refuse(error: WorkcrateError): void;
}

/** Who waits, by user: each in the order of asking, and the users in the order of their turns. */
type Lines = Map<string, Set<Waiter>>;

export interface Places {
  readonly most: number;
  /** Of these, the most of one user. */
  readonly mostOfUser: number;
}

/** Where there are several users, the last place is left to others, so that nobody waits for all that one has begun. */
export function placesFor(most: number, hasUsers: boolean): Places {
  return { most, mostOfUser: hasUsers ? Math.max(1, most - 1) : most };
}

/**
 * At most `most` at once. The next place goes to the user who has the fewest; among those they take turns. Where no
 * more can wait, whoever has fewer waiting takes the place of the latest of whoever has the most.
 */
export function takeTurns({ most, mostOfUser }: Places, refusals: Refusals): Turns {
  const lines: Lines = new Map();
  const under = new Map<string, number>();
  let closed = false;

  const running = (): number => sum(under.values());
  const queued = (): number => sum(lines.values().map(({ size }) => size));

  const begin = (user: string): void => void under.set(user, (under.get(user) ?? 0) + 1);
  // Whoever ends hands the place over in the same breath, so that nobody slips in between.
  const leave = (user: string): void => {
    const left = under.get(user)! - 1;
    if (left === 0) under.delete(user);
    else under.set(user, left);
    const next = nextOf(lines, under, mostOfUser);
    if (next === null) return;
    begin(next.user);
    next.waiter.enter();
  };

  /** The one who gives way, if anybody, is told of its own runs alone, as is the one who finds no place. */
  const makeRoom = (user: string): void => {
    const own = lines.get(user)?.size ?? 0;
    const [longest, line] = longestOf(lines);
    if (line.size <= own + 1) throw refusals.busy(under.get(user) ?? 0, own);
    [...line].at(-1)!.refuse(refusals.busy(under.get(longest) ?? 0, line.size - 1));
  };

  return {
    running,
    queued,
    async enter({ user, signal }) {
      if (closed) throw refusals.closed();
      if (signal.aborted) throw refusals.cancelled();
      if (running() < most && (under.get(user) ?? 0) < mostOfUser) begin(user);
      else {
        if (queued() >= most * waitingPerPlace) makeRoom(user);
        await turn(lines, { user, signal }, refusals.cancelled);
      }
      return once(() => leave(user));
    },
    close() {
      closed = true;
      for (const line of lines.values()) for (const waiter of line) waiter.refuse(refusals.closed());
    },
  };
}

/** Takes a user's turn, who then stands behind all others. Null where nobody waits, or only who has enough already. */
function nextOf(
  lines: Lines,
  under: ReadonlyMap<string, number>,
  mostOfUser: number,
): { user: string; waiter: Waiter } | null {
  const count = (user: string): number => under.get(user) ?? 0;
  const [user] = [...lines.keys()]
    .filter((user) => count(user) < mostOfUser)
    .sort((a, b) => count(a) - count(b));
  if (user === undefined) return null;
  const line = lines.get(user)!;
  lines.delete(user);
  lines.set(user, line);
  const [waiter] = line;
  return { user, waiter: waiter! };
}

const longestOf = (lines: Lines): [string, Set<Waiter>] =>
  [...lines].reduce((longest, line) => (line[1].size > longest[1].size ? line : longest));

async function turn(lines: Lines, { user, signal }: Asking, cancelled: () => WorkcrateError): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const waiter: Waiter = {
    enter() {
      gone();
      resolve();
    },
    refuse(error) {
      gone();
      reject(error);
    },
  };
  const cancel = () => waiter.refuse(cancelled());
  const line = lines.get(user) ?? new Set();
  const gone = () => {
    line.delete(waiter);
    if (line.size === 0) lines.delete(user);
    signal.removeEventListener('abort', cancel);
  };
  lines.set(user, line.add(waiter));
  signal.addEventListener('abort', cancel);
  return promise;
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);

/** A place that is given back twice would be one too many. */
function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}
