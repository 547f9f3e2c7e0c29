import type { Columns } from './columns.ts';
import { lengthOfByte, textFields } from './text-fields.ts';
import type { Segment, View } from './view.ts';

/** A segment as one user may see it. */
export interface VisibleSegment {
  readonly of: Segment;
  /** 1 for each document that is dead or belongs to another; null where all may be seen. */
  readonly hidden: Uint8Array | null;
  readonly count: number;
}

/** What there is for one user. All that is counted and weighed is counted among these documents alone. */
export interface Visible {
  readonly view: View;
  readonly segments: readonly VisibleSegment[];
  readonly count: number;
  /** By field, then by length as a byte: what one occurrence counts. */
  readonly norms: readonly Float64Array[];
}

const mostRemembered = 100;
const known = new WeakMap<View, Map<string, Visible>>();

export function visibleTo(view: View, viewer: string): Visible {
  const byViewer = known.get(view) ?? new Map<string, Visible>();
  known.set(view, byViewer);
  const before = byViewer.get(viewer);
  if (before !== undefined) return before;
  if (byViewer.size >= mostRemembered) byViewer.clear();
  const visible = look(view, viewer);
  byViewer.set(viewer, visible);
  return visible;
}

function look(view: View, viewer: string): Visible {
  const segments: VisibleSegment[] = [];
  const totals = textFields.map(() => 0);
  let count = 0;
  for (const segment of view.segments) {
    const { columns, totalLengths } = segment;
    const out = hiddenIn(segment, viewer);
    for (const field of totals.keys())
      totals[field]! += totalLengths[field]! - lengthsOf(columns.lengths[field]!, out);
    segments.push({ of: segment, hidden: marked(columns.size, out), count: columns.size - out.length });
    count += columns.size - out.length;
  }
  return { view, segments, count, norms: totals.map((total, field) => normsOf(field, total / count)) };
}

function hiddenIn({ columns, dead }: Segment, viewer: string): number[] {
  const others = othersOf(columns, viewer);
  return others === null ? [...dead] : [...new Set([...dead, ...others])];
}

function othersOf({ owners, size }: Columns, viewer: string): number[] | null {
  const isOther = owners.values.map((owner) => owner !== null && owner !== viewer);
  if (!isOther.includes(true)) return null;
  const others: number[] = [];
  for (let at = 0; at < size; at++) if (isOther[owners.codes[at]!]) others.push(at);
  return others;
}

function marked(size: number, hidden: readonly number[]): Uint8Array | null {
  if (hidden.length === 0) return null;
  const marks = new Uint8Array(size);
  for (const at of hidden) marks[at] = 1;
  return marks;
}

function lengthsOf(lengths: Uint8Array, hidden: readonly number[]): number {
  let total = 0;
  for (const at of hidden) total += lengthOfByte[lengths[at]!]!;
  return total;
}

/** A word in a short field says more than one in a long field: BM25F. */
function normsOf(field: number, average: number): Float64Array {
  const { weight, lengthMatters: share } = textFields[field]!;
  return lengthOfByte.map((length) => weight / (1 - share + (average > 0 ? (share * length) / average : 0)));
}
