/** Merges small segments into larger ones, leaves out what is dead, and removes what nobody reads any more. */
import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import { BlockWriter, entriesOf, marks } from './blocks.ts';
import { ColumnsWriter, readColumns, type Columns } from './columns.ts';
import {
  ByteReader,
  ByteWriter,
  endsByBit,
  passEntry,
  postingsIn,
  writeHead,
  type Postings,
} from './postings.ts';
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

const blocksAtOnce = 64;

interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * Calls for the keys of all sources in order, with the postings of each put together. The bytes are good until the next
 * call. It waits for what `add` gives, where that is a promise: there are millions of keys.
 */
async function mergeKeys(
  database: Database,
  sources: readonly MergeSource[],
  add: (key: string, value: Uint8Array) => Promise<void> | null,
): Promise<void> {
  const cursors = numbered(sources).map((source) => new Cursor(database, source));
  for (const cursor of cursors) await cursor.fill();
  const joiner = new Joiner();
  for (let key = leastKey(cursors); key !== null; key = leastKey(cursors)) {
    joiner.begin(key);
    for (const cursor of cursors) {
      if (cursor.entry?.key !== key) continue;
      joiner.add(postingsIn(cursor.entry.value), cursor.source);
      if (!cursor.next()) await cursor.fill();
    }
    const value = joiner.end();
    const pause = value === null ? null : add(key, value);
    if (pause !== null) await pause;
  }
}

function leastKey(cursors: readonly Cursor[]): string | null {
  let least: string | null = null;
  for (const { entry } of cursors)
    if (entry !== null && (least === null || entry.key < least)) least = entry.key;
  return least;
}

/** How documents of a source are numbered in what is made. */
interface Numbered extends MergeSource {
  /** The number of its first. */
  readonly base: number;
  /** The new number of each, -1 for the dead; null where all live and follow each other. */
  readonly renumbered: Int32Array | null;
}

function numbered(sources: readonly MergeSource[]): Numbered[] {
  let next = 0;
  return sources.map((source) => {
    const base = next;
    const { size } = source.columns;
    const renumbered = source.deadCount === 0 ? null : new Int32Array(size);
    for (let at = 0; at < size; at++) {
      const isDead = renumbered !== null && source.isDead(at);
      if (renumbered !== null) renumbered[at] = isDead ? -1 : next;
      if (!isDead) next++;
    }
    return { ...source, base, renumbered };
  });
}

class Cursor {
  readonly source: Numbered;
  entry: Entry | null = null;
  readonly #database: Database;
  #block = 0;
  #waiting: Uint8Array[] = [];
  #entries: Iterator<Entry> | null = null;

  constructor(database: Database, source: Numbered) {
    this.#database = database;
    this.source = source;
  }

  /** Whether there is another without reading on. */
  next(): boolean {
    for (;;) {
      const step = this.#entries?.next();
      if (step !== undefined && step.done !== true) {
        this.entry = step.value;
        return true;
      }
      const block = this.#waiting.shift();
      this.entry = null;
      if (block === undefined) return false;
      this.#entries = entriesOf(block);
    }
  }

  async fill(): Promise<void> {
    const { segment, blocks } = this.source;
    if (this.#block >= blocks) return;
    const end = Math.min(blocks, this.#block + blocksAtOnce);
    const rows = await this.#database.query<{ bytes: Uint8Array }>(
      'SELECT bytes FROM crate_blocks WHERE segment = ? AND block >= ? AND block < ? ORDER BY block',
      segment,
      this.#block,
      end,
    );
    if (rows.length !== end - this.#block) throw indexMergedElsewhereError();
    this.#block = end;
    this.#waiting = rows.map(({ bytes }) => bytes);
    this.next();
  }
}

const indexMergedElsewhereError = (): WorkcrateError =>
  new WorkcrateError('index_busy', 'Another process is merging the index already. There is nothing to do.');

/** Puts postings of several segments one after the other. */
class Joiner {
  readonly #body = new ByteWriter(4096);
  readonly #whole = new ByteWriter(4096);
  #count = 0;
  #last = -1;
  #byBit = false;

  begin(key: string): void {
    this.#body.clear();
    this.#count = 0;
    this.#last = -1;
    this.#byBit = endsByBit(key[0]!);
  }

  add(postings: Postings, { base, renumbered }: Numbered): void {
    if (renumbered === null) this.#addAll(postings, base);
    else this.#addLiving(postings, renumbered);
  }

  /** All but the first are as far from the one before as they were. */
  #addAll({ bytes, start, end, count, last }: Postings, base: number): void {
    const reader = new ByteReader(bytes, start);
    const first = reader.number();
    this.#body.number(base + first - this.#last - 1);
    this.#body.bytes(bytes.subarray(reader.at, end));
    this.#count += count;
    this.#last = base + last;
  }

  #addLiving({ bytes, start, end }: Postings, renumbered: Int32Array): void {
    const reader = new ByteReader(bytes, start);
    let document = -1;
    while (reader.at < end) {
      document += reader.number() + 1;
      const from = reader.at;
      reader.at = passEntry(bytes, from, this.#byBit);
      const number = renumbered[document]!;
      if (number === -1) continue;
      this.#body.number(number - this.#last - 1);
      this.#body.bytes(bytes.subarray(from, reader.at));
      this.#count++;
      this.#last = number;
    }
  }

  /** Null where nothing is left. */
  end(): Uint8Array | null {
    if (this.#count === 0) return null;
    this.#whole.clear();
    writeHead(this.#whole, this.#count, this.#last);
    this.#whole.bytes(this.#body.view());
    return this.#whole.view();
  }
}
