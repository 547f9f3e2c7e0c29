import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { Coded, Columns } from './columns.ts';
import { findFacetNumber } from '../query/facets.ts';
import { lengthsByByte, textFields } from '../query/text-fields.ts';
import type { Segment, View } from './view.ts';

/** A segment as one user may see it. */
export interface VisibleSegment {
  readonly of: Segment;
  /** 1 for each document that is dead, belongs to another or is of another source; null where all may be seen. */
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
const known = new WeakMap<View, BoundedMap<string, Visible>>();

/** Of some sources alone, where these are given. For one view they have to be the same each time. */
export function visibleTo(view: View, viewer: string, sources: ReadonlySet<string> | null = null): Visible {
  const byViewer =
    known.get(view) ?? new BoundedMap<string, Visible>({ mostEntries: mostRemembered, whenFull: 'clear' });
  known.set(view, byViewer);
  const before = byViewer.get(viewer);
  if (before !== undefined) return before;
  const visible = look(view, viewer, sources);
  byViewer.set(viewer, visible);
  return visible;
}

function look(view: View, viewer: string, sources: ReadonlySet<string> | null): Visible {
  const segments: VisibleSegment[] = [];
  const totals = textFields.map(() => 0);
  let count = 0;
  for (const segment of view.segments) {
    const { columns, totalLengths } = segment;
    const out = hiddenIn(segment, viewer, sources);
    for (const field of totals.keys())
      totals[field]! += totalLengths[field]! - lengthsOf(columns.lengths[field]!, out);
    segments.push({ of: segment, hidden: marked(columns.size, out), count: columns.size - out.size });
    count += columns.size - out.size;
  }
  return { view, segments, count, norms: totals.map((total, field) => normsOf(field, total / count)) };
}

const sourceFacet = findFacetNumber('source');

function hiddenIn(
  { columns, dead }: Segment,
  viewer: string,
  sources: ReadonlySet<string> | null,
): ReadonlySet<number> {
  const hidden = new Set(dead);
  addThose(hidden, columns, columns.owners, (owner) => owner !== null && owner !== viewer);
  if (sources !== null)
    addThose(hidden, columns, columns.facets[sourceFacet]!, ({ values }) => !sources.has(values[0]!));
  return hidden;
}

/** Adds the documents with a value that is to be hidden. */
function addThose<T>(
  hidden: Set<number>,
  { size }: Columns,
  { codes, values }: Coded<T>,
  isHidden: (value: T) => boolean,
): void {
  const out = values.map(isHidden);
  if (!out.includes(true)) return;
  for (let at = 0; at < size; at++) if (out[codes[at]!]) hidden.add(at);
}

function marked(size: number, hidden: ReadonlySet<number>): Uint8Array | null {
  if (hidden.size === 0) return null;
  const marks = new Uint8Array(size);
  for (const at of hidden) marks[at] = 1;
  return marks;
}

function lengthsOf(lengths: Uint8Array, hidden: ReadonlySet<number>): number {
  let total = 0;
  for (const at of hidden) total += lengthsByByte[lengths[at]!]!;
  return total;
}

/** A word in a short field says more than one in a long field: BM25F. */
function normsOf(field: number, average: number): Float64Array {
  const { weight, lengthMatters: share } = textFields[field]!;
  return lengthsByByte.map((length) => weight / (1 - share + (average > 0 ? (share * length) / average : 0)));
}
