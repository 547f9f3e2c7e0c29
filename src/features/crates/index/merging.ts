/** Merges small segments into larger ones, leaves out what is dead, and removes what nobody reads any more. */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { BlockWriter, marks } from './blocks.ts';
import { ColumnsWriter, readColumns, type Columns } from './columns.ts';
import { mergeKeys } from './merge-keys.ts';
import {
  cleanUp,
  lowerBound,
  insertBlocks,
  insertParts,
  liveSegments,
  readPart,
  type SegmentRow,
} from './segments.ts';

/** So many bytes go into one transaction, so that other writers need not wait long. */
const bytesAtOnce = 4 * 1024 * 1024;

/** Removes what nobody reads any more, then merges some segments; false where there was nothing to do. */
export async function mergeSome(database: Database, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) throw mergeCancelledError();
  const cleaned = await cleanUp(database, clock());
  const segments = await liveSegments(database);
  const generation = await currentGeneration(database);
  const dead = await deadUpTo(database, generation);
  const chosen = chooseSegments(segments, dead);
  if (chosen.length === 0) return cleaned;
  const sources: MergeSource[] = [];
  for (const row of chosen) {
    const source = await openSource(database, row, dead);
    if (source === null) return true;
    sources.push(source);
  }
  await mergeSources({ database, clock, signal, generation }, chosen, sources);
  return true;
}

async function currentGeneration(database: Database): Promise<number> {
  const [row] = await database.query<{ generation: number }>(
    'SELECT generation FROM crate_index WHERE id = 1',
  );
  return row!.generation;
}

async function deadUpTo(database: Database, generation: number): Promise<number[]> {
  const sql = 'SELECT document FROM crate_dead WHERE generation <= ? ORDER BY document';
  return (await database.query<{ document: number }>(sql, generation)).map(({ document }) => document);
}

interface Merge {
  readonly database: Database;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What was dead by then is left out. */
  readonly generation: number;
}

async function mergeSources(
  merge: Merge,
  chosen: readonly SegmentRow[],
  sources: readonly MergeSource[],
): Promise<void> {
  const { database } = merge;
  const segment = await beginSegment(merge, chosen);
  const columns = new ColumnsWriter();
  for (const { columns: own, isDead } of sources) columns.addAll(own, isDead);
  const writer = new BlockWriter();
  const flush = async (): Promise<void> => {
    const blocks = writer.take();
    await database.transaction(async (tx) => {
      await tx.query('UPDATE crate_segments SET touched_at = ? WHERE segment = ?', merge.clock(), segment);
      await insertBlocks(tx, segment, blocks);
    });
  };
  await mergeKeys(database, sources, (key, value) => {
    writer.add(key, value);
    if (writer.waiting < bytesAtOnce) return null;
    if (merge.signal.aborted) throw mergeCancelledError();
    return flush();
  });
  const list = writer.end();
  await flush();
  await database.transaction((tx) => insertParts(tx, segment, columns.end(null), list));
  if (merge.signal.aborted) throw mergeCancelledError();
  await replaceSegments(merge, chosen, { segment, documents: columns.size, blocks: list.count });
}

const mergeCancelledError = (): WorkcrateError =>
  new WorkcrateError('cancelled', 'Merging the index was stopped. It starts again by itself later.');

async function beginSegment({ database, clock }: Merge, chosen: readonly SegmentRow[]): Promise<number> {
  return database.transaction(async (tx) => {
    const [row] = await tx.query<{ next_segment: number }>(
      'UPDATE crate_index SET next_segment = next_segment + 1 WHERE id = 1 RETURNING next_segment',
    );
    const segment = row!.next_segment - 1;
    await tx.query(
      `INSERT INTO crate_segments (segment, state, documents, first_document, last_document, blocks, touched_at)
       VALUES (?, 'building', 0, ?, ?, 0, ?)`,
      segment,
      chosen[0]!.first_document,
      chosen.at(-1)!.last_document,
      clock(),
    );
    return segment;
  });
}

/** From here on the new one is searched in place of the others, unless another process has replaced them meanwhile. */
async function replaceSegments(
  { database, clock, generation }: Merge,
  chosen: readonly SegmentRow[],
  made: { segment: number; documents: number; blocks: number },
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query('UPDATE crate_index SET generation = generation + 1 WHERE id = 1');
    const retired = await tx.query(
      `UPDATE crate_segments SET state = 'retired', touched_at = ?
       WHERE state = 'live' AND segment IN (${marks(chosen.length)}) RETURNING segment`,
      clock(),
      ...chosen.map(({ segment }) => segment),
    );
    const wins = retired.length === chosen.length;
    if (!wins) throw lostRace();
    await tx.query(
      'UPDATE crate_segments SET state = ?, documents = ?, blocks = ? WHERE segment = ?',
      made.documents > 0 ? 'live' : 'retired',
      made.documents,
      made.blocks,
      made.segment,
    );
    await tx.query(
      'DELETE FROM crate_dead WHERE document >= ? AND document <= ? AND generation <= ?',
      chosen[0]!.first_document,
      chosen.at(-1)!.last_document,
      generation,
    );
  });
}

const lostRace = (): WorkcrateError =>
  new WorkcrateError('index_busy', 'Another process is merging the index already. There is nothing to do.');

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
function chooseSegments(segments: readonly SegmentRow[], dead: readonly number[]): SegmentRow[] {
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

/** A segment as it goes into a merged one. */
export interface MergeSource {
  readonly segment: number;
  readonly blocks: number;
  readonly columns: Columns;
  isDead(at: number): boolean;
  /** How many documents of it are left out. */
  readonly deadCount: number;
}

/** Null where another process has replaced it. */
async function openSource(
  database: Database,
  { segment, blocks }: SegmentRow,
  dead: readonly number[],
): Promise<MergeSource | null> {
  const bytes = await readPart(database, segment, 'columns');
  if (bytes === null) return null;
  const columns = readColumns(bytes);
  const gone = new Set<number>();
  for (const document of dead) {
    const at = lowerBound(columns.documents, document);
    if (columns.documents[at] === document) gone.add(at);
  }
  return { segment, blocks, columns, isDead: (at) => gone.has(at), deadCount: gone.size };
}
