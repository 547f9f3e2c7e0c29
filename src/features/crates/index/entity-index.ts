/** How entities are found: the keys of their values, the blocks that may hold a part of a value, and which entity refers to which. */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Entity } from '../crate.ts';
import { foldCaseAndAccents } from '../text/words.ts';
import { bitsOf, blockFor, entriesOf, mayHold, signatureBytes, type BlockCache } from './blocks.ts';
import type { Pace } from './pace.ts';
import { ByteReader, ByteWriter, afterPrefix, asKey, kinds, postingsIn, type Postings } from './postings.ts';
import { signaturesPerPart, type Segment } from './segments.ts';

/** So much of a value is looked through for a part of it. */
const mostFolded = 500;
const mostExact = 200;

/** A value as it is compared: what looks the same is the same, and white space around it does not count. */
export const valueForm = (text: string): string => text.normalize('NFC').trim();

/** A value as a part of it is looked for. */
export const foldedValue = (value: string): string =>
  asKey(foldCaseAndAccents(value.slice(0, mostFolded)).slice(0, mostFolded));

/** A property or a type: so much of its name tells it apart. */
export const nameKey = (name: string): string => asKey(name.slice(0, mostExact));

/** What the keys of a property begin with, whatever the type of the entity. */
const propertyPrefix = (property: string): string => `${kinds.entity}${nameKey(property)}\0`;

/** What the keys of a property of entities of one type begin with; `type` as it stands in keys. */
export const typePrefix = (property: string, type: string): string => `${propertyPrefix(property)}${type}\0`;

/** What follows for one value: it is found by a part of it as well as whole. */
export function valuePart(text: string): string {
  if (plainPattern.test(text) && text.length <= mostExact) {
    const part = text.toLowerCase();
    return part === text ? `${part}\0` : `${part}\0${text}`;
  }
  const value = valueForm(text);
  const part = foldedValue(value);
  const own = asKey(value);
  return `${part}\0${own === part ? '' : shortenEntityValue(own)}`;
}

/** Printable ASCII without white space around it: as it is, it is a key. */
const plainPattern = /^(?! )[ -~]*(?<! )$/;

function shortenEntityValue(value: string): string {
  if (value.length <= mostExact) return value;
  return `\u0001${createHash('sha256').update(value, 'latin1').digest('base64url')}`;
}

const known = new WeakMap<Segment['columns'], BoundedMap<string, readonly string[]>>();
const mostKnown = 1000;
/** Types of entities are few; where they are not, somebody writes what is no type. */
const mostTypes = 1000;

/** The types, as they stand in keys, of the entities of a segment that have a property. */
export async function typesWith(
  cache: BlockCache,
  segment: Segment,
  property: string,
): Promise<readonly string[]> {
  const byProperty =
    known.get(segment.columns) ??
    new BoundedMap<string, readonly string[]>({ mostEntries: mostKnown, whenFull: 'clear' });
  known.set(segment.columns, byProperty);
  const before = byProperty.get(property);
  if (before !== undefined) return before;
  const types = await findTypes(cache, segment, property);
  byProperty.set(property, types);
  return types;
}

/** From each type on to the first key of another. */
async function findTypes(cache: BlockCache, segment: Segment, property: string): Promise<string[]> {
  const prefix = propertyPrefix(property);
  const end = afterPrefix(prefix);
  const types: string[] = [];
  for (
    let key = await firstFrom(cache, segment, prefix);
    key !== null && key < end && types.length < mostTypes;
  ) {
    const type = key.slice(prefix.length, key.indexOf('\0', prefix.length));
    types.push(type);
    key = await firstFrom(cache, segment, afterPrefix(typePrefix(property, type)));
  }
  return types;
}

async function firstFrom(
  cache: BlockCache,
  { segment, fences }: Segment,
  from: string,
): Promise<string | null> {
  const block = blockFor(fences, from);
  const [bytes] = block < 0 ? [] : await cache.blocks(segment, [block]);
  if (bytes !== undefined) for (const { key } of entriesOf(bytes)) if (key >= from) return key;
  return fences[block + 1] ?? null;
}

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

/** The entities of a crate with their types, and which refers to which. */
export interface References {
  readonly types: readonly (readonly string[])[];
  /** By property: pairs of the entity that refers and the one that is referred to. */
  readonly byProperty: ReadonlyMap<string, readonly number[]>;
}

export function encodeReferences(entities: readonly Entity[]): Uint8Array {
  const writer = new ByteWriter(256);
  const names = new Map<string, number>();
  const codeOf = (name: string): number => names.get(name) ?? (names.set(name, names.size), names.size - 1);
  writer.number(entities.length);
  for (const { types } of entities) {
    writer.number(types.length);
    for (const type of types) writer.number(codeOf(type));
  }
  for (const [property, pairs] of pairsOf(entities)) {
    writer.number(codeOf(property));
    writer.number(pairs.length);
    for (const number of pairs) writer.number(number);
  }
  const head = Buffer.from(JSON.stringify([...names.keys()]));
  const whole = new ByteWriter(head.length + writer.length + 8);
  whole.number(head.length);
  whole.bytes(head);
  whole.bytes(writer.view());
  return whole.taken();
}

function pairsOf(entities: readonly Entity[]): Map<string, number[]> {
  const byProperty = new Map<string, number[]>();
  for (const [at, { properties }] of entities.entries())
    for (const property of properties) {
      if (!('target' in property)) continue;
      const pairs = byProperty.get(property.name);
      if (pairs === undefined) byProperty.set(property.name, [at, property.target]);
      else pairs.push(at, property.target);
    }
  return byProperty;
}

export function decodeReferences(bytes: Uint8Array): References {
  const reader = new ByteReader(bytes);
  const head = Buffer.from(reader.take(reader.number())).toString('utf8');
  const names = JSON.parse(head) as string[];
  const types = Array.from({ length: reader.number() }, () =>
    Array.from({ length: reader.number() }, () => names[reader.number()]!),
  );
  const byProperty = new Map<string, number[]>();
  while (!reader.ended) {
    const property = names[reader.number()]!;
    const pairs = Array.from({ length: reader.number() }, () => reader.number());
    byProperty.set(property, pairs);
  }
  return { types, byProperty };
}

/** The entities from which a path of references leads to one of `targets`. */
export async function walkBack(
  { byProperty }: References,
  path: readonly string[],
  targets: Iterable<number>,
  pace: Pace,
): Promise<Set<number>> {
  let reached = new Set(targets);
  for (const property of path.toReversed()) {
    await pace.breathe();
    const from = new Set<number>();
    const pairs = byProperty.get(property) ?? [];
    for (let at = 0; at < pairs.length; at += 2) if (reached.has(pairs[at + 1]!)) from.add(pairs[at]!);
    reached = from;
  }
  return reached;
}
