/** The segments as they are now, the part of them that one viewer may see, and their rows. */
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { createMutex } from '../../../platform/concurrency/mutex.ts';
import type { Database, Queries } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { findFacetNumber } from '../query/facets.ts';
import { lengthsByByte, textFields } from '../query/text-fields.ts';
import {
  insertRows,
  readFences,
  signatureBytes,
  type Block,
  type BlockCache,
  type BlockList,
} from './blocks.ts';
import { readColumns, type Coded, type Columns } from './columns.ts';

/** A segment as it is searched. All but `dead` never changes. */
export interface Segment {
  readonly segment: number;
  readonly columns: Columns;
  readonly fences: readonly string[];
  /** Of all its documents, the dead included, by field. */
  readonly totalLengths: readonly number[];
  /** Its documents that are no longer in the index. */
  readonly dead: ReadonlySet<number>;
}

/** The index at one moment. */
export interface View {
  readonly generation: number;
  readonly segments: readonly Segment[];
}

const mostAttempts = 20;

/** Gives the index as it is now; what was read before is read again only where it has changed. */
export function createViews(database: Database, cache: BlockCache): () => Promise<View> {
  let view: View = { generation: -1, segments: [] };
  let dead = new Set<number>();

  const generationNow = async (): Promise<number> => {
    const rows = await database.query<{ generation: number }>(
      'SELECT generation FROM crate_index WHERE id = 1',
    );
    return rows[0]!.generation;
  };

  /** Null where a writer came between. */
  const load = async (generation: number): Promise<View | null> => {
    const rows = await liveSegments(database);
    const before = new Map(view.segments.map((segment) => [segment.segment, segment]));
    const isMerged = view.segments.some(({ segment }) => !rows.some((row) => row.segment === segment));
    const died = await deadSince(database, isMerged ? -1 : view.generation);
    const segments: Omit<Segment, 'dead'>[] = [];
    for (const row of rows) {
      const segment = before.get(row.segment) ?? (await openSegment(database, row));
      if (segment === null) return null;
      segments.push(segment);
    }
    if ((await generationNow()) !== generation) return null;
    if (isMerged) dead = new Set(died);
    else for (const document of died) dead.add(document);
    const all = [...dead].sort((one, other) => one - other);
    cache.keepOnly(new Set(rows.map(({ segment }) => segment)));
    return {
      generation,
      segments: segments.map((segment) => withDead(segment, all, before.get(segment.segment))),
    };
  };

  const refresh = async (): Promise<View> => {
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const generation = await generationNow();
      if (generation === view.generation) return view;
      const loaded = await load(generation);
      if (loaded !== null) return (view = loaded);
    }
    throw new WorkcrateError(
      'index_busy',
      'The index is changing too fast to be read. Try again in a moment.',
    );
  };

  // One after the other: what a search before this one reads may be older than this one has a right to.
  const refreshing = createMutex();
  return () => refreshing.run(refresh);
}

async function deadSince(database: Database, generation: number): Promise<number[]> {
  const sql = 'SELECT document FROM crate_dead WHERE generation > ?';
  return (await database.query<{ document: number }>(sql, generation)).map(({ document }) => document);
}

async function openSegment(
  database: Database,
  { segment, blocks }: SegmentRow,
): Promise<Omit<Segment, 'dead'> | null> {
  const bytes = await readPart(database, segment, 'columns');
  // Crates without a single word or entity have no blocks.
  const fences = blocks === 0 ? new Uint8Array(0) : await readPart(database, segment, 'fences');
  if (bytes === null || fences === null) return null;
  const columns = readColumns(bytes);
  const totalLengths = textFields.map((_, field) => totalOf(columns.lengths[field]!));
  return { segment, columns, fences: readFences(fences), totalLengths };
}

function totalOf(lengths: Uint8Array): number {
  let total = 0;
  for (const byte of lengths) total += lengthsByByte[byte]!;
  return total;
}

function withDead(
  segment: Omit<Segment, 'dead'>,
  all: readonly number[],
  before: Segment | undefined,
): Segment {
  const { documents, size } = segment.columns;
  const from = lowerBound(all, documents[0]!);
  const to = lowerBound(all, documents[size - 1]! + 1);
  const dead = new Set<number>();
  for (let index = from; index < to; index++) {
    const at = lowerBound(documents, all[index]!);
    if (documents[at] === all[index]) dead.add(at);
  }
  if (before !== undefined && before.dead.size === dead.size) return before;
  return { ...segment, dead };
}

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

export type SegmentRow = {
  segment: number;
  documents: number;
  first_document: number;
  last_document: number;
  blocks: number;
};

const partBytes = 1024 * 1024;
/** Of signatures few are needed at a time. */
export const signaturesPerPart = 64;

export async function insertBlocks(
  queries: Queries,
  segment: number,
  blocks: readonly Block[],
): Promise<void> {
  const rows = blocks.map(({ number, bytes }) => [segment, number, bytes]);
  await insertRows(queries, 'crate_blocks (segment, block, bytes)', rows);
}

export async function insertParts(
  queries: Queries,
  segment: number,
  columns: Uint8Array,
  { fences, signatures }: BlockList,
): Promise<void> {
  const rows = [
    ...partsOf('columns', columns, partBytes),
    ...partsOf('fences', fences, partBytes),
    ...partsOf('signatures', signatures, signaturesPerPart * signatureBytes),
  ].map(({ name, part, bytes }) => [segment, name, part, bytes]);
  for (const row of rows)
    await insertRows(queries, 'crate_segment_parts (segment, name, part, bytes)', [row]);
}

function partsOf(name: string, bytes: Uint8Array, most: number) {
  const count = Math.ceil(bytes.length / most);
  return Array.from({ length: count }, (_, part) => ({
    name,
    part,
    bytes: bytes.subarray(part * most, (part + 1) * most),
  }));
}

/** A column or list of a segment, put together again; null where the segment is gone. */
export async function readPart(queries: Queries, segment: number, name: string): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const rows = await queries.query<{ bytes: Uint8Array }>(
      'SELECT bytes FROM crate_segment_parts WHERE segment = ? AND name = ? AND part = ?',
      segment,
      name,
      parts.length,
    );
    if (rows.length === 0) break;
    parts.push(rows[0]!.bytes);
  }
  return parts.length === 0 ? null : Buffer.concat(parts);
}

/** Those that are searched, the oldest documents first. */
export const liveSegments = (queries: Queries): Promise<SegmentRow[]> =>
  queries.query<SegmentRow>(
    `SELECT segment, documents, first_document, last_document, blocks FROM crate_segments
     WHERE state = 'live' ORDER BY first_document`,
  );

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

/** A segment that nobody has worked on for so long was left by a process that died. */
const abandonedMs = 15 * 60_000;
/** Each step is a transaction. */
const blocksPerStep = 1000;
/** More than a merge leaves behind, so that what is left does not pile up. */
const mostSteps = 200;

/** Removes what is left of retired and abandoned segments; whether there was any. */
export async function cleanUp(database: Database, now: number): Promise<boolean> {
  for (let step = 0; step < mostSteps; step++) if (!(await cleanSome(database, now))) return step > 0;
  return true;
}

async function cleanSome(database: Database, now: number): Promise<boolean> {
  const [row] = await database.query<{ segment: number }>(
    `SELECT segment FROM crate_segments
     WHERE state = 'retired' OR (state = 'building' AND touched_at < ?) ORDER BY segment LIMIT 1`,
    now - abandonedMs,
  );
  if (row === undefined) return false;
  const { segment } = row;
  const [left] = await database.query<{ least: number | null }>(
    'SELECT MIN(block) AS least FROM crate_blocks WHERE segment = ?',
    segment,
  );
  const least = left?.least ?? 0;
  await database.transaction(async (tx) => {
    const end = least + blocksPerStep;
    await tx.query('DELETE FROM crate_blocks WHERE segment = ? AND block < ?', segment, end);
    const [more] = await tx.query('SELECT block FROM crate_blocks WHERE segment = ? LIMIT 1', segment);
    if (more !== undefined) return;
    await tx.query('DELETE FROM crate_segment_parts WHERE segment = ?', segment);
    await tx.query('DELETE FROM crate_segments WHERE segment = ?', segment);
  });
  return true;
}
