import { ByteReader, type ByteWriter } from './bytes.ts';
import { kinds } from './keys.ts';

/**
 * What is found under a key: how many documents; where there are several, the last of them; then each as the distance
 * from the one before and something about it. Documents are numbered within their segment, from 0.
 *
 * Under words and forms that something is a byte for each field that the word is in: the field in bits 4 to 6, how
 * often in bits 0 to 3, bit 7 with the last. Elsewhere it is growing numbers as distances, and a zero.
 */
export interface Postings {
  readonly bytes: Uint8Array;
  /** Of them, where the first document stands. */
  readonly start: number;
  readonly end: number;
  readonly count: number;
  readonly last: number;
}

export function postingsIn(bytes: Uint8Array): Postings {
  const reader = new ByteReader(bytes);
  const count = reader.number();
  if (count > 1) {
    const last = reader.number();
    return { bytes, start: reader.at, end: bytes.length, count, last };
  }
  const start = reader.at;
  return { bytes, start, end: bytes.length, count, last: reader.number() };
}

export function writeHead(writer: ByteWriter, count: number, last: number): void {
  writer.number(count);
  if (count > 1) writer.number(last);
}

/** How often a word stands in a field, in four bits: what is beyond makes no difference to the ranking. */
export const countOfLevel = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64);

const levels = Uint8Array.from({ length: 65 }, (_, count) =>
  Math.max(
    0,
    countOfLevel.findLastIndex((least) => least <= count),
  ),
);

export const levelOf = (count: number): number => levels[Math.min(count, 64)]!;

export const lastField = 128;
export const fieldEntry = (field: number, count: number): number => (field << 4) | levelOf(count);

/** Whether what stands beside a document ends by a bit, and not by a zero. */
export const endsByBit = (kind: string): boolean => kind === kinds.word || kind === kinds.form;

/** Passes what is about a document. */
export function passEntry(bytes: Uint8Array, at: number, byBit: boolean): number {
  let next = at;
  if (byBit) while (bytes[next++]! < lastField);
  else while (bytes[next++] !== 0);
  return next;
}

/** Calls back for each document, with where that stands which is about it. */
export function eachPosting(
  { bytes, start, end }: Postings,
  byBit: boolean,
  call: (document: number, at: number) => void,
): void {
  const reader = new ByteReader(bytes, start);
  let document = -1;
  while (reader.at < end) {
    document += reader.number() + 1;
    call(document, reader.at);
    reader.at = passEntry(bytes, reader.at, byBit);
  }
}

/** The numbers that stand about a document, such as positions: growing, from 0. */
export function numbersAt(bytes: Uint8Array, at: number): number[] {
  const reader = new ByteReader(bytes, at);
  const numbers: number[] = [];
  let last = -1;
  for (let more = reader.number(); more !== 0; more = reader.number()) numbers.push((last += more));
  return numbers;
}
