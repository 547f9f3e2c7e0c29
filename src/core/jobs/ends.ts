/**
 * Writes how jobs ended. Where the database fails, an end waits and is tried again until it is written: what was done is
 * done, and whoever asked for it has been told. It knows no tables: the kind says how an end is written.
 */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';

/** Beyond them the oldest are given up, and found lost later. */
const maxWaiting = 1000;
const firstBackoffMs = 1000;
const longestBackoffMs = 60_000;

export interface JobEndsOptions<End> {
  /** Writes an end that waited. Twice has to be as good as once, since a first answer may be lost. */
  readonly write: (id: string, end: End) => Promise<void>;
  /** What ends that wait weigh, and may weigh together. */
  readonly weigh?: (end: End) => number;
  readonly maxWeight?: number;
  readonly told: {
    /** It waits from now on. */
    notWritten(id: string, error: unknown, end: End): void;
    stillNotWritten?(id: string, error: unknown): void;
    written?(id: string): void;
    /** The process ends before the database took them. */
    givenUp?(count: number): void;
  };
}

export function createJobEnds<End>({ write, weigh, maxWeight, told }: JobEndsOptions<End>) {
  const waiting = new BoundedMap<string, End>({
    mostEntries: maxWaiting,
    ...(weigh === undefined ? {} : { weigh }),
    ...(maxWeight === undefined ? {} : { mostWeight: maxWeight }),
  });
  let backoffMs = firstBackoffMs;
  let timer: NodeJS.Timeout | null = null;
  let trying: Promise<void> | null = null;

  function tryLater(): void {
    timer ??= setTimeout(() => {
      timer = null;
      void tryAgain();
    }, backoffMs).unref();
  }

  function tryAgain(): Promise<void> {
    trying ??= writeWaiting().finally(() => (trying = null));
    return trying;
  }

  async function writeWaiting(): Promise<void> {
    for (const [id, end] of waiting)
      try {
        await write(id, end);
        waiting.delete(id);
        told.written?.(id);
      } catch (error) {
        told.stillNotWritten?.(id, error);
        backoffMs = Math.min(2 * backoffMs, longestBackoffMs);
        return tryLater();
      }
    backoffMs = firstBackoffMs;
  }

  function keep(id: string, end: End): void {
    waiting.set(id, end);
    tryLater();
  }

  return {
    /** Gives null, or why it could not be written. Never rejects: what cannot be written waits. */
    async end(id: string, end: End, first = () => write(id, end)): Promise<unknown> {
      try {
        await first();
        return null;
      } catch (error) {
        told.notWritten(id, error, end);
        keep(id, end);
        return error;
      }
    },

    /** Has an end written later. */
    keep,

    /** An end that its row does not have yet. */
    find: (id: string): End | null => waiting.get(id) ?? null,

    isFull: (): boolean => waiting.size >= maxWaiting,

    /** Tries once more what still waits. */
    async [Symbol.asyncDispose](): Promise<void> {
      clearTimeout(timer ?? undefined);
      await trying;
      clearTimeout(timer ?? undefined);
      if (waiting.size === 0) return;
      await tryAgain();
      clearTimeout(timer ?? undefined);
      if (waiting.size > 0) told.givenUp?.(waiting.size);
    },
  };
}
