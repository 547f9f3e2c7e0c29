import { BoundedMap } from '../concurrency/bounded-map.ts';
import { isWhole, joinRanges, type ByteRange } from './ranges.ts';

const mostLinks = 1000;
const mostPieces = 100;

/**
 * Tells when a link has given out every byte: in one answer, or in several that together cover all of it, as when a
 * broken transfer is resumed or a program fetches several parts at once. Who fetched which is not told apart. Of pieces
 * little is kept, and only by this process: whatever is forgotten counts as one complete download too few, never as one
 * too many.
 */
export function createCoverage() {
  const gathered = new BoundedMap<string, ByteRange[]>({ mostEntries: mostLinks });

  function keep(link: string, pieces: ByteRange[]): void {
    if (pieces.length === 0 || pieces.length > mostPieces) gathered.delete(link);
    else gathered.set(link, pieces);
  }

  return {
    /** Takes in what one answer gave; true where that makes up the whole. */
    completes(link: string, given: readonly ByteRange[], size: number): boolean {
      // An empty answer, such as 304, gives nothing, also of an empty file.
      if (given.length === 0) return false;
      if (isWhole(given, size)) return true;
      const pieces = joinRanges([...(gathered.get(link) ?? []), ...given]);
      const isDone = isWhole(pieces, size);
      keep(link, isDone ? [] : pieces);
      return isDone;
    },
  };
}
