import { WorkcrateError } from '../../errors.ts';
import type { BlockCache } from './block-cache.ts';
import { blockFor } from './blocks.ts';
import { ByteReader } from './bytes.ts';
import { afterPrefix } from './keys.ts';
import { postingsIn, type Postings } from './postings.ts';
import { signaturesPerPart } from './segment-rows.ts';
import { bitsOf, mayHold, signatureBytes } from './signatures.ts';
import type { Segment } from './view.ts';

const blocksAtOnce = 64;
/** Without three characters in a row every block has to be read. */
const mostUnsigned = 2000;

/** What is found under the keys that begin with `prefix` and hold `needle` in the folded value after it. */
export async function* containing(
  cache: BlockCache,
  segment: Segment,
  prefix: string,
  needle: string,
): AsyncGenerator<Postings[]> {
  const blocks = await blocksThatMay(cache, segment, prefix, needle);
  for (let at = 0; at < blocks.length; at += blocksAtOnce)
    for (const bytes of await cache.blocks(segment.segment, blocks.slice(at, at + blocksAtOnce))) {
      const found = foundIn(bytes, bytesOf(prefix), bytesOf(needle));
      if (found.length > 0) yield found;
    }
}

const bytesOf = (key: string): Uint8Array => Buffer.from(key, 'latin1');

async function blocksThatMay(
  cache: BlockCache,
  { segment, fences }: Segment,
  from: string,
  needle: string,
): Promise<number[]> {
  const first = Math.max(0, blockFor(fences, from));
  const end = blockFor(fences, afterPrefix(from)) + 1;
  const bits = bitsOf(needle);
  if (bits.length === 0 && end - first > mostUnsigned) throw tooShort();
  const blocks: number[] = [];
  for (let block = first; block < end;) {
    const part = Math.floor(block / signaturesPerPart);
    const signatures = await cache.signatures(segment, part);
    const isLast = signatures.length < signaturesPerPart * signatureBytes;
    const last = Math.min(end, part * signaturesPerPart + signatures.length / signatureBytes);
    for (; block < last; block++)
      if (mayHold(signatures, block % signaturesPerPart, bits)) blocks.push(block);
    if (isLast) break;
  }
  return blocks;
}

const tooShort = (): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    'A part of a value must have at least 3 characters. Give a longer part, or the whole value with exact: true.',
  );

/** Longer than any key: see entity-key.ts. */
const scratch = new Uint8Array(8192);
const nowhere = Number.POSITIVE_INFINITY;

/**
 * Looks through the keys of a block as bytes, each written over the one before: of what two keys have in common, nothing
 * is looked at twice.
 */
function foundIn(block: Uint8Array, prefix: Uint8Array, needle: Uint8Array): Postings[] {
  const found: Postings[] = [];
  const reader = new ByteReader(block);
  /** Where the needle ends in the value, and where the value does; of a key without the prefix, nowhere and 0. */
  let [matchedTo, valueEnd] = [nowhere, 0];
  while (reader.at < block.length) {
    const shared = reader.number();
    const length = shared + reader.number();
    for (let at = shared; at < length; at++) scratch[at] = block[reader.at++]!;
    const size = reader.number();
    reader.at += size;
    if (!(shared >= prefix.length ? valueEnd > 0 : startsWith(scratch, prefix, length))) {
      [matchedTo, valueEnd] = [nowhere, 0];
      continue;
    }
    // Otherwise the value is that of the key before.
    if (valueEnd === 0 || shared <= valueEnd) {
      const from = Math.max(prefix.length, shared - needle.length + 1);
      valueEnd = scratch.indexOf(0, Math.max(prefix.length, shared));
      if (matchedTo > shared) matchedTo = matchEnd(scratch, needle, from, valueEnd);
    }
    if (matchedTo === nowhere) continue;
    found.push(postingsIn(block.subarray(reader.at - size, reader.at)));
  }
  return found;
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array, length: number): boolean {
  return length >= prefix.length && prefix.every((byte, at) => bytes[at] === byte);
}

/** Where the first `needle` from `start` on ends, if it does so before `end`. */
function matchEnd(bytes: Uint8Array, needle: Uint8Array, start: number, end: number): number {
  const last = end - needle.length;
  const first = needle[0];
  for (let at = start; at <= last; at++) {
    if (bytes[at] !== first) continue;
    let matched = 1;
    while (matched < needle.length && bytes[at + matched] === needle[matched]) matched++;
    if (matched === needle.length) return at + matched;
  }
  return nowhere;
}
