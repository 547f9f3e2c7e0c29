import { damaged } from './failures.ts';

/** Where members begin in the archive, in order. */
export interface Extents {
  /** Up to where the member that begins at `start` may reach. */
  roomOf(start: number): number;
}

/**
 * Members that share bytes make a small archive out of a huge one; none that was made in good faith has them. Each
 * array is sorted by itself: if no member begins before as many others have ended, no two of them overlap.
 */
export function checkedExtents(starts: Float64Array, ends: Float64Array, directory: number): Extents {
  sort(starts);
  sort(ends);
  if ((ends.at(-1) ?? 0) > directory) throw damaged('a member reaches into its directory');
  for (let index = 1; index < starts.length; index++)
    if (starts[index]! < ends[index - 1]!) throw damaged('members overlap');
  return { roomOf: (start) => following(starts, start) ?? directory };
}

/** As a rule members stand in the order of the directory. */
function sort(numbers: Float64Array): void {
  for (let index = 1; index < numbers.length; index++)
    if (numbers[index]! < numbers[index - 1]!) {
      numbers.sort();
      return;
    }
}

/** The first that is greater. */
function following(starts: Float64Array, start: number): number | null {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! <= start) low = middle + 1;
    else high = middle;
  }
  return starts[low] ?? null;
}
