/** Blocks of keys with their postings: how they are written, found, cached and read. */
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import type { Database, Queries, SqlValue } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Pace } from './pace.ts';
import { ByteReader, ByteWriter, kinds, postingsIn, type Postings } from './postings.ts';
import type { Segment, View } from './segments.ts';

/** A block is closed when it has grown to this. */
const blockBytes = 8 * 1024;
/** What is larger stands in a block of its own, so that its neighbours can be read without it. */
const largeBytes = 4 * 1024;

export interface Block {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** What is known of all blocks of a segment once they are written. */
export interface BlockList {
  readonly count: number;
  /** The first key of each block. */
  readonly fences: Uint8Array;
  /** One for each block that holds entities; those blocks are the first. */
  readonly signatures: Uint8Array;
}

/** Turns keys in order, with what is found under them, into blocks. A key is written as its difference to the one before. */
export class BlockWriter {
  readonly #block = new ByteWriter(blockBytes * 2);
  readonly #fences = new ByteWriter(1024);
  readonly #signatures = new ByteWriter(signatureBytes);
  #signature: Uint8Array | null = null;
  #previous = '';
  #fence = '';
  #count = 0;
  #done: Block[] = [];
  /** Bytes of blocks that were not taken yet. */
  waiting = 0;

  add(key: string, value: Uint8Array): void {
    const isLarge = value.length > largeBytes;
    if (isLarge) this.#close();
    if (this.#block.length === 0) this.#open(key);
    writeKey(this.#block, this.#previous, key);
    this.#block.number(value.length);
    this.#block.bytes(value);
    this.#previous = key;
    if (key.startsWith(kinds.entity)) this.#sign(key);
    if (isLarge || this.#block.length >= blockBytes) this.#close();
  }

  /** The blocks that are finished; each is given once. */
  take(): Block[] {
    const done = this.#done;
    this.#done = [];
    this.waiting = 0;
    return done;
  }

  end(): BlockList {
    this.#close();
    return { count: this.#count, fences: this.#fences.taken(), signatures: this.#signatures.taken() };
  }

  #open(key: string): void {
    writeKey(this.#fences, this.#fence, key);
    this.#fence = key;
    this.#previous = '';
  }

  #sign(key: string): void {
    this.#signature ??= new Uint8Array(signatureBytes);
    const from = key.indexOf('\0', key.indexOf('\0') + 1) + 1;
    sign(this.#signature, key, from, key.indexOf('\0', from));
  }

  #close(): void {
    if (this.#block.length === 0) return;
    if (this.#signature !== null) this.#signatures.bytes(this.#signature);
    this.#signature = null;
    this.#done.push({ number: this.#count++, bytes: this.#block.taken() });
    this.waiting += this.#block.length;
    this.#block.clear();
  }
}

function writeKey(writer: ByteWriter, previous: string, key: string): void {
  let shared = 0;
  const most = Math.min(previous.length, key.length);
  while (shared < most && previous.charCodeAt(shared) === key.charCodeAt(shared)) shared++;
  writer.number(shared);
  writer.number(key.length - shared);
  writer.latin1(shared === 0 ? key : key.slice(shared));
}

function readKey(reader: ByteReader, previous: string): string {
  const shared = reader.number();
  const rest = reader.latin1(reader.number());
  return shared === 0 ? rest : previous.slice(0, shared) + rest;
}

export function readFences(bytes: Uint8Array): string[] {
  const reader = new ByteReader(bytes);
  const fences: string[] = [];
  while (!reader.ended) fences.push(readKey(reader, fences.at(-1) ?? ''));
  return fences;
}

/** The entries of a block, in order. */
export function* entriesOf(block: Uint8Array): Generator<{ key: string; value: Uint8Array }> {
  const reader = new ByteReader(block);
  let key = '';
  while (!reader.ended) {
    key = readKey(reader, key);
    yield { key, value: reader.take(reader.number()) };
  }
}

/** What is found under a key in the block that it would stand in, or null. */
export function findInBlock(block: Uint8Array, wanted: string): Uint8Array | null {
  const reader = new ByteReader(block);
  /** How many characters the key before had in common with the one wanted. */
  let matched = 0;
  while (!reader.ended) {
    const shared = reader.number();
    const length = reader.number();
    const from = reader.at;
    reader.at += length;
    // Beyond what the last key had in common, this one is as different as that was.
    if (shared <= matched) {
      matched = shared;
      while (matched - shared < length && block[from + matched - shared] === wanted.charCodeAt(matched))
        matched++;
      if (matched === wanted.length && matched === shared + length) return reader.take(reader.number());
      const differs = matched - shared < length && matched < wanted.length;
      if (differs ? block[from + matched - shared]! > wanted.charCodeAt(matched) : matched === wanted.length)
        return null;
    }
    const skipped = reader.number();
    reader.at += skipped;
  }
  return null;
}

/** The last block that begins at or before the key, or -1. */
export function blockFor(fences: readonly string[], key: string): number {
  let low = 0;
  let high = fences.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (fences[middle]! <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Blocks as they were read, those that were not used for longest forgotten first. They never change. */
export interface BlockCache {
  /** Blocks of a segment by number. `index_busy` where they are gone since the segment was merged. */
  blocks(segment: number, numbers: readonly number[]): Promise<Uint8Array[]>;
  /** The signatures of some blocks: see `signaturesPerPart`. */
  signatures(segment: number, part: number): Promise<Uint8Array>;
  /** Forgets the segments that are not among these. */
  keepOnly(segments: ReadonlySet<number>): void;
  readonly bytes: number;
}

/** Few texts of SQL, whatever the number of blocks. */
const portions = [1, 8, 64];
const perSegment = 2 ** 26;
/** Signatures are numbered after all blocks. */
const firstSignature = 2 ** 25;

export function createBlockCache(database: Database, mostBytes: number): BlockCache {
  const kept = new BoundedMap<number, Uint8Array>({
    mostWeight: mostBytes,
    heaviest: mostBytes / 4,
    weigh: ({ length }) => length,
  });

  return {
    async blocks(segment, numbers) {
      const found = numbers.map((number) => kept.use(segment * perSegment + number));
      const missing = numbers.filter((_, at) => found[at] === undefined);
      if (missing.length === 0) return found as Uint8Array[];
      const read = await readMissing(database, segment, missing);
      for (const [number, block] of read) kept.set(segment * perSegment + number, block);
      return numbers.map((number, at) => found[at] ?? read.get(number)!);
    },
    async signatures(segment, part) {
      const key = segment * perSegment + firstSignature + part;
      const known = kept.use(key);
      if (known !== undefined) return known;
      const [row] = await database.query<{ bytes: Uint8Array }>(
        "SELECT bytes FROM crate_segment_parts WHERE segment = ? AND name = 'signatures' AND part = ?",
        segment,
        part,
      );
      if (row === undefined) throw segmentReplacedError();
      kept.set(key, row.bytes);
      return row.bytes;
    },
    keepOnly(segments) {
      for (const key of kept.keys()) if (!segments.has(Math.floor(key / perSegment))) kept.delete(key);
    },
    get bytes() {
      return kept.weight;
    },
  };
}

async function readMissing(
  database: Database,
  segment: number,
  numbers: readonly number[],
): Promise<Map<number, Uint8Array>> {
  const read = new Map<number, Uint8Array>();
  for (let at = 0; at < numbers.length;) {
    const left = numbers.length - at;
    const portion = portions.find((most) => most >= left) ?? portions.at(-1)!;
    const some = Array.from(
      { length: portion },
      (_, index) => numbers[Math.min(at + index, numbers.length - 1)]!,
    );
    const rows = await database.query<{ block: number; bytes: Uint8Array }>(
      `SELECT block, bytes FROM crate_blocks WHERE segment = ? AND block IN (${marks(portion)})`,
      segment,
      ...some,
    );
    for (const { block, bytes } of rows) read.set(block, bytes);
    at += portion;
  }
  if (numbers.some((number) => !read.has(number))) throw segmentReplacedError();
  return read;
}

const segmentReplacedError = (): WorkcrateError =>
  new WorkcrateError('index_busy', 'The index is changing too fast to be read. Try again in a moment.');

const keysAtOnce = 64;

/** What is found under each of the keys, by segment. */
export async function lookUp(
  cache: BlockCache,
  { segments }: View,
  keys: readonly string[],
  pace: Pace,
): Promise<(Postings | null)[][]> {
  const found = keys.map((): (Postings | null)[] => []);
  // Some at a time: to search a block takes longer than to read it.
  for (let from = 0; from < keys.length; from += keysAtOnce) {
    await pace.breathe();
    const some = keys.slice(from, from + keysAtOnce);
    const bySegment = await Promise.all(segments.map((segment) => lookUpIn(cache, segment, some)));
    for (const at of some.keys()) found[from + at] = bySegment.map((own) => own[at]!);
  }
  return found;
}

/** The same in one segment. */
export async function lookUpIn(
  cache: BlockCache,
  { segment, fences }: Segment,
  keys: readonly string[],
): Promise<(Postings | null)[]> {
  const numbers = keys.map((key) => blockFor(fences, key));
  const wanted = [...new Set(numbers)].filter((number) => number >= 0);
  const blocks = await cache.blocks(segment, wanted);
  return keys.map((key, at) => {
    if (numbers[at]! < 0) return null;
    const value = findInBlock(blocks[wanted.indexOf(numbers[at]!)]!, key);
    return value === null ? null : postingsIn(value);
  });
}

const blocksAtOnce = 64;

/** The keys of a segment from `from` on and before `to`, with what is found under them. */
export async function* scan(
  cache: BlockCache,
  { segment, fences }: Segment,
  from: string,
  to: string,
): AsyncGenerator<{ key: string; postings: Postings }[]> {
  const last = blockFor(fences, to);
  for (let block = Math.max(0, blockFor(fences, from)); block <= last; block += blocksAtOnce) {
    const count = Math.min(blocksAtOnce, last - block + 1);
    const blocks = await cache.blocks(
      segment,
      Array.from({ length: count }, (_, at) => block + at),
    );
    for (const bytes of blocks) {
      const some: { key: string; postings: Postings }[] = [];
      for (const { key, value } of entriesOf(bytes))
        if (key >= from && key < to) some.push({ key, postings: postingsIn(value) });
      if (some.length > 0) yield some;
    }
  }
}

/**
 * Bits that say which three and which five bytes in a row may stand in a block, so that most blocks need not be read.
 * Fives tell far more, since the threes of a language stand in nearly every block; threes are for what is shorter.
 */
export const signatureBytes = 2048;

const [short, long] = [3, 5];
const firstLong = (signatureBytes / 2) * 8;

const hashTrigram = (value: number): number => Math.imul(value, 0x9e37_79b1) >>> 19;

/** Notes part of a key. It is done for every character of every value that is indexed. */
function sign(signature: Uint8Array, text: string, start: number, end: number): void {
  let [run, before] = [0, 0];
  for (let at = start; at < end; at++) {
    before = run;
    run = (run << 8) | text.charCodeAt(at);
    if (at - start >= short - 1) setBit(signature, shortBit(run));
    if (at - start >= long - 1) setBit(signature, longBit(run, before));
  }
}

const setBit = (signature: Uint8Array, bit: number): void => {
  signature[bit >> 3]! |= 1 << (bit & 7);
};

const shortBit = (run: number): number => hashTrigram(run & 0xff_ffff);
const longBit = (run: number, before: number): number =>
  firstLong + hashTrigram(run ^ Math.imul(before >>> 24, 0x85eb_ca6b));

/** The bits that have to be set where `needle` stands. None where it is too short to tell. */
export function bitsOf(needle: string): number[] {
  const bits = new Set<number>();
  const isLong = needle.length >= long;
  let [run, before] = [0, 0];
  for (let at = 0; at < needle.length; at++) {
    before = run;
    run = (run << 8) | needle.charCodeAt(at);
    if (isLong && at >= long - 1) bits.add(longBit(run, before));
    if (!isLong && at >= short - 1) bits.add(shortBit(run));
  }
  return [...bits];
}

/** Whether a block may hold what has these bits. Signatures stand one after the other. */
export function mayHold(signatures: Uint8Array, number: number, bits: readonly number[]): boolean {
  const from = number * signatureBytes;
  for (const bit of bits) if ((signatures[from + (bit >> 3)]! & (1 << (bit & 7))) === 0) return false;
  return true;
}

const mostValues = 900;

/** Inserts rows, many with each statement. `into` names the table and its columns. */
export async function insertRows(
  queries: Queries,
  into: string,
  rows: readonly (readonly SqlValue[])[],
): Promise<void> {
  if (rows.length === 0) return;
  const width = rows[0]!.length;
  const row = `(${marks(width)})`;
  const most = Math.max(1, Math.floor(mostValues / width));
  for (let at = 0; at < rows.length; at += most) {
    const some = rows.slice(at, at + most);
    const sql = `INSERT INTO ${into} VALUES ${some.map(() => row).join(', ')}`;
    await queries.query(sql, ...some.flat());
  }
}

/** As many placeholders, with commas. */
export const marks = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

/** Calls for some of them at a time, as many as one statement takes. */
export async function inPortions<T>(
  all: readonly T[],
  call: (some: readonly T[]) => Promise<unknown>,
  most = mostValues,
): Promise<void> {
  for (let at = 0; at < all.length; at += most) await call(all.slice(at, at + most));
}
