import type { Database } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import { entriesOf } from './blocks.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import type { MergeSource } from './merge-source.ts';
import { endsByBit, passEntry, postingsIn, writeHead, type Postings } from './postings.ts';

const blocksAtOnce = 64;

interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * Calls for the keys of all sources in order, with the postings of each put together. The bytes are good until the next
 * call. It waits for what `add` gives, where that is a promise: there are millions of keys.
 */
export async function mergeKeys(
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
