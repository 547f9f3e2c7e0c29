import type { SegmentRow } from './segment-rows.ts';

/** So many of about one size become one of the next. */
const width = 8;
const smallest = 16;
/** Blocks, which is some hundred megabytes: what is larger stays as it is, so that a merge has an end. */
const largest = 65_536;
/** A segment is written anew for its own sake when so much of it is dead. */
const deadShare = 0.3;

const tierOf = ({ blocks }: SegmentRow): number =>
  Math.max(0, Math.floor(Math.log(Math.max(1, blocks / smallest)) / Math.log(width)));

/**
 * Which segments to merge: neighbours, so that the numbers of documents grow from one segment to the next. The newest
 * are the smallest in general, hence the end of the list is looked at.
 */
export function chooseSegments(segments: readonly SegmentRow[], dead: readonly number[]): SegmentRow[] {
  const decayed = segments.find((row) => deadIn(row, dead) > row.documents * deadShare);
  if (decayed !== undefined) return [decayed];
  for (let tier = 0; ; tier++) {
    const run = segments.slice(
      segments.findLastIndex((row) => tierOf(row) > tier || row.blocks >= largest) + 1,
    );
    if (run.length >= width) return run.slice(0, width * 4);
    if (run.length === segments.length || tier > 20) return [];
  }
}

function deadIn({ first_document, last_document }: SegmentRow, dead: readonly number[]): number {
  return lowerBound(dead, last_document + 1) - lowerBound(dead, first_document);
}

/** How many of growing numbers are below one. */
export function lowerBound(numbers: ArrayLike<number>, wanted: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
