import type { ClauseLists } from './clause-lists.ts';
import { countOfLevel, lastField, type Postings } from './postings.ts';
import { bm25Saturation } from '../query/text-fields.ts';
import type { Visible, VisibleSegment } from './visible.ts';

/** A clause's documents, and how much it counts. */
export interface Weighed {
  readonly lists: ClauseLists;
  readonly weight: number;
  /** How many documents have it, of those that may be seen. */
  readonly documents: number;
}

/** What rare words say counts more: BM25's idf. */
export function weigh(visible: Visible, lists: ClauseLists, boost = 1): Weighed {
  let documents = 0;
  for (const [at, list] of lists.entries()) documents += seenIn(visible.segments[at]!, list);
  const weight = boost * Math.log(1 + (visible.count - documents + 0.5) / (documents + 0.5));
  return { lists, weight, documents };
}

function seenIn({ hidden }: VisibleSegment, list: Postings | null): number {
  if (list === null) return 0;
  if (hidden === null) return list.count;
  let seen = 0;
  walk(list, (document) => {
    seen += 1 - hidden[document]!;
  });
  return seen;
}

/** As `eachPosting`, for words alone: this is where searches spend their time. */
export function walk({ bytes, start, end }: Postings, call: (document: number, at: number) => void): void {
  let at = start;
  let document = -1;
  while (at < end) {
    let byte = bytes[at++]!;
    let distance = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[at++]!;
      distance |= (byte & 127) << shift;
    }
    document += distance + 1;
    call(document, at);
    while (bytes[at++]! < 128);
  }
}

/** Adds `unit` to the count of each document, and sets the bits of `flag`. */
export function countUp(
  { bytes, start, end }: Postings,
  counts: Uint16Array,
  unit: number,
  flag: number,
): void {
  let at = start;
  let document = -1;
  while (at < end) {
    let byte = bytes[at++]!;
    let distance = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[at++]!;
      distance |= (byte & 127) << shift;
    }
    document += distance + 1;
    counts[document] = (counts[document]! + unit) | flag;
    while (bytes[at++]! < lastField);
  }
}

/** Adds up what a clause is worth to each chosen document, and notes the fields that it was found in. */
export function addScores(
  { bytes, start, end }: Postings,
  weight: number,
  { norms }: Visible,
  { of }: VisibleSegment,
  chosen: Uint8Array,
  scores: Float64Array,
  fields: Uint8Array,
): void {
  const { lengths } = of.columns;
  let at = start;
  let document = -1;
  while (at < end) {
    let byte = bytes[at++]!;
    let distance = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[at++]!;
      distance |= (byte & 127) << shift;
    }
    document += distance + 1;
    if (chosen[document] === 0) {
      while (bytes[at++]! < lastField);
      continue;
    }
    let frequency = 0;
    let entry: number;
    do {
      entry = bytes[at++]!;
      const field = (entry >> 4) & 7;
      frequency += norms[field]![lengths[field]![document]!]! * countOfLevel[entry & 15]!;
      fields[document]! |= 1 << field;
    } while (entry < lastField);
    scores[document]! += (weight * frequency * (bm25Saturation + 1)) / (frequency + bm25Saturation);
  }
}
