import { createMutex } from '../../concurrency/mutex.ts';
import type { Database } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import { readFences } from './blocks.ts';
import type { BlockCache } from './block-cache.ts';
import { readColumns, type Columns } from './columns.ts';
import { lowerBound } from './merge-choosing.ts';
import { liveSegments, readPart, type SegmentRow } from './segment-rows.ts';
import { lengthsByByte, textFields } from '../query/text-fields.ts';

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
