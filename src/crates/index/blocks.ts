import { ByteReader, ByteWriter } from './bytes.ts';
import { kinds } from './keys.ts';
import { sign, signatureBytes } from './signatures.ts';

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
