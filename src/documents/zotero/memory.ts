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
  const entries = new Map<string, Remembered>();
  let bytes = 0;

  function forget(url: string): void {
    const known = entries.get(url);
    if (known === undefined) return;
    entries.delete(url);
    bytes -= bytesOf(url, known);
  }

  return {
    get(url) {
      const known = entries.get(url);
      if (known === undefined) return null;
      entries.delete(url);
      entries.set(url, known);
      return known;
    },
    set(url, answer) {
      forget(url);
      // One that is so large would drive out all others.
      if (bytesOf(url, answer) > mostBytes / 4) return;
      entries.set(url, answer);
      bytes += bytesOf(url, answer);
      while (bytes > mostBytes || entries.size > mostEntries) forget(entries.keys().next().value!);
    },
  };
}

/** At most: text of Latin letters takes half. */
const bytesOf = (url: string, { text }: Remembered): number => 2 * (url.length + text.length);
