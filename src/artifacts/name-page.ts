import { byteKey, nameOfKey } from './byte-order.ts';

export interface PageWish {
  /** Names behind this one; null for the first. */
  readonly after: string | null;
  readonly limit: number;
}

export interface NamePage {
  /** In the order of their bytes. */
  readonly names: string[];
  /** How many there are in all, on this page or not. */
  readonly total: number;
  /** What to give as `after` for the page behind this one; null for the last page. */
  readonly next: string | null;
}

/**
 * Takes names in any order, and keeps those of one page: twice as many are in memory at most, however many there are.
 */
export function createNamePage({ after, limit }: PageWish) {
  const start = after === null ? null : byteKey(after);
  let keys: string[] = [];
  /** The last that can still be on the page; null while there is room for all. */
  let last: string | null = null;
  let [total, behind] = [0, 0];

  function cut(): void {
    keys = keys.sort().slice(0, limit);
    if (keys.length === limit) last = keys.at(-1)!;
  }

  return {
    add(name: string): void {
      total++;
      const key = byteKey(name);
      if (start !== null && key <= start) return;
      behind++;
      if (last !== null && key >= last) return;
      if (keys.push(key) >= 2 * limit) cut();
    },

    page(): NamePage {
      cut();
      const names = keys.map(nameOfKey);
      return { names, total, next: behind > names.length ? names.at(-1)! : null };
    },
  };
}
