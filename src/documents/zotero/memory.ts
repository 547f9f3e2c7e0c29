import { BoundedMap } from '../../concurrency/bounded-map.ts';

/** An answer that was given for a URL, and the version of the library that it shows. */
export interface Remembered {
  readonly text: string;
  readonly version: number;
  readonly total: number | null;
}

export interface Memory {
  get(url: string): Remembered | null;
  set(url: string, answer: Remembered): void;
}

/** Answers by URL, those that were asked for last. */
export function createMemory({ mostEntries = 200, mostBytes = 16 * 1024 ** 2 } = {}): Memory {
  const entries = new BoundedMap<string, Remembered>({
    mostEntries,
    mostWeight: mostBytes,
    heaviest: mostBytes / 4,
    weigh: ({ text }, url) => bytesOf(url, text),
  });
  return {
    get: (url) => entries.use(url) ?? null,
    set: (url, answer) => entries.set(url, answer),
  };
}

/** At most: text of Latin letters takes half. */
const bytesOf = (url: string, text: string): number => 2 * (url.length + text.length);
