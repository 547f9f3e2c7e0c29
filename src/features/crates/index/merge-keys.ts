/** Goes through the keys of several segments in order, and puts the postings of each together. */
import type { Database } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { MergeSource } from './merging.ts';
import {
  ByteReader,
  ByteWriter,
  endsByBit,
  passEntry,
  postingsIn,
  writeHead,
  type Postings,
} from './postings.ts';

const blocksAtOnce = 64;

/**
 * Calls for the keys of all sources in order, with the postings of each put together. The bytes are good until the next
 * call. It waits for what `add` gives, where that is a promise: there are millions of keys.
 */
export async function mergeKeys(
  database: Database,
  sources: readonly MergeSource[],
  add: (key: string, value: Uint8Array) => Promise<void> | null,
): Promise<void> {
  const heap = new CursorHeap();
  for (const source of numbered(sources)) {
    const cursor = new Cursor(database, source);
    await cursor.fill();
    heap.add(cursor);
  }
  const joiner = new Joiner();
  for (let first = heap.first; first !== null; first = heap.first) {
    const { key } = first;
    joiner.begin(key!);
    for (let cursor: Cursor | null = first; cursor?.key === key; cursor = heap.first) {
      joiner.add(cursor.postings(), cursor.source);
      if (!cursor.next()) await cursor.fill();
      heap.sink();
    }
    const value = joiner.end();
    const pause = value === null ? null : add(key!, value);
    if (pause !== null) await pause;
  }
}

/** Cursors with the least key first; of equal keys, that of the earlier source. */
class CursorHeap {
  readonly #cursors: Cursor[] = [];

  get first(): Cursor | null {
    return this.#cursors[0] ?? null;
  }

  add(cursor: Cursor): void {
    if (cursor.key === null) return;
    this.#cursors.push(cursor);
    for (let at = this.#cursors.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!isBefore(this.#cursors[at]!, this.#cursors[parent]!)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Puts the first where it belongs, after it has moved on; away where it has ended. */
  sink(): void {
    const cursors = this.#cursors;
    if (cursors[0]!.key === null) {
      const last = cursors.pop()!;
      if (cursors.length === 0) return;
      cursors[0] = last;
    }
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < cursors.length && isBefore(cursors[child]!, cursors[least]!)) least = child;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(one: number, other: number): void {
    const cursors = this.#cursors;
    [cursors[one], cursors[other]] = [cursors[other]!, cursors[one]!];
  }
}

const isBefore = (one: Cursor, other: Cursor): boolean =>
  one.key === other.key ? one.source.base < other.source.base : one.key! < other.key!;

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

/** Goes through the keys of a segment in order. */
class Cursor {
  readonly source: Numbered;
  /** Null at the end. */
  key: string | null = null;
  readonly #database: Database;
  #block = 0;
  #waiting: Uint8Array[] = [];
  #reader = new ByteReader(new Uint8Array(0));
  #value = new Uint8Array(0);
  /** The bytes of the key: the next one begins like it. */
  #bytes = Buffer.alloc(1024);

  constructor(database: Database, source: Numbered) {
    this.#database = database;
    this.source = source;
  }

  postings(): Postings {
    return postingsIn(this.#value);
  }

  /** Whether there is another without reading on. */
  next(): boolean {
    if (this.#reader.ended) {
      const block = this.#waiting.shift();
      this.key = null;
      if (block === undefined) return false;
      this.#reader = new ByteReader(block);
    }
    const reader = this.#reader;
    const shared = reader.number();
    const length = shared + reader.number();
    if (length > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], length * 2);
    for (let at = shared; at < length; at++) this.#bytes[at] = reader.bytes[reader.at++]!;
    this.key = this.#bytes.toString('latin1', 0, length);
    this.#value = reader.take(reader.number()) as Uint8Array<ArrayBuffer>;
    return true;
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
