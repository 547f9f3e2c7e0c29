/**
 * How many interpreters wait beyond the usual number: more while runs find none, fewer again when it is calm. It starts
 * and ends none (`pool.ts` does), and knows the memory that they take only as a rule of thumb.
 */
import { makeForEachKind, type InterpreterKind } from './user-sandbox.ts';

/** What one that waits takes, in MB, as far as it does not share that with others. */
const megabytes: Readonly<Record<InterpreterKind, number>> = { python: 4, bash: 3, node: 40, preloaded: 16 };

/** For all users together. */
const maxMegabytes = 256;
/** Of one kind for one user. */
const maxExtra = 8;
/** After so long in which every run found one, half of them go. */
const calmMs = 2000;

/** The memory that interpreters beyond the usual number may take, of all pools. */
export interface SpareMemory {
  claim(kind: InterpreterKind): boolean;
  giveBack(kind: InterpreterKind, count: number): void;
}

export function createSpareMemory(): SpareMemory {
  let left = maxMegabytes;
  return {
    claim(kind) {
      if (left < megabytes[kind]) return false;
      left -= megabytes[kind];
      return true;
    },
    giveBack: (kind, count) => void (left += count * megabytes[kind]),
  };
}

/** The demand for one kind of interpreter in one pool. */
export interface PoolDemand {
  /** How many more than usual should wait. */
  readonly extra: number;
  /** A run found none. */
  noteMiss(): void;
  close(): void;
}

/** `onCalm` is called whenever fewer are wanted than before. */
export function createDemand(kind: InterpreterKind, memory: SpareMemory, onCalm: () => void): PoolDemand {
  let extra = 0;
  /** The first one says little: the pool of a user who has just come is empty. */
  let hasMissed = false;
  let calm: NodeJS.Timeout | undefined;
  const setExtra = (next: number): void => {
    memory.giveBack(kind, extra - next);
    extra = next;
  };
  const calmDown = (): void => {
    hasMissed = false;
    setExtra(Math.floor(extra / 2));
    onCalm();
    if (extra > 0) wait();
  };
  const wait = (): void => {
    clearTimeout(calm);
    calm = setTimeout(calmDown, calmMs).unref();
  };
  return {
    get extra() {
      return extra;
    },
    noteMiss() {
      if (hasMissed && extra < maxExtra && memory.claim(kind)) extra++;
      hasMissed = true;
      wait();
    },
    close() {
      clearTimeout(calm);
      setExtra(0);
    },
  };
}

/** Those of one pool. `onCalm` is called with the kind of which fewer are wanted than before. */
export function createDemands(memory: SpareMemory, onCalm: (kind: InterpreterKind) => void) {
  const demands = makeForEachKind((kind) => createDemand(kind, memory, () => onCalm(kind)));
  return { ...demands, [Symbol.dispose]: () => Object.values(demands).forEach((demand) => demand.close()) };
}
