import { lowerBound } from './merge-choosing.ts';
import type { Visible } from './visible.ts';

interface Placed {
  readonly segment: number;
  readonly at: number;
}

/** Where a document stands, by its number in the index; null where it is not in it or may not be seen. */
export function locate({ segments }: Visible, document: number): Placed | null {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { documents, size } = segments[middle]!.of.columns;
    if (documents[size - 1]! < document) low = middle + 1;
    else high = middle;
  }
  const segment = segments[low];
  if (segment === undefined) return null;
  const at = lowerBound(segment.of.columns.documents, document);
  if (segment.of.columns.documents[at] !== document || segment.hidden?.[at] === 1) return null;
  return { segment: low, at };
}

export const documentNumber = ({ segments }: Visible, { segment, at }: Placed): number =>
  segments[segment]!.of.columns.documents[at]!;
