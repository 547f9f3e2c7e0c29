/**
 * Scores documents by BM25F, exactly: every document with any of the words is looked at, term at a time, and the best are
 * kept in a heap. That totals and facets count all that was found needs the whole lists anyway, so none are skipped.
 */
import { facets } from '../query/facets.ts';
import type { FacetFilter } from '../query/parse.ts';
import { bm25Saturation } from '../query/text-fields.ts';
import { sortKeyBytes } from './columns.ts';
import type { Pace } from './pace.ts';
import { countOfLevel, lastField, type Postings } from './postings.ts';
import type { Visible, VisibleSegment } from './segments.ts';

/** The documents of a clause in each segment, with the fields that it is in. */
export type ClauseLists = readonly (Postings | null)[];

/** A clause's documents, and how much it counts. */
export interface Weighed {
  readonly lists: ClauseLists;
  readonly weight: number;
}

/** What is looked for, read and weighed. */
export interface Sought {
  /** A document needs any of them. */
  readonly wanted: readonly Weighed[];
  /** A document needs all of them. */
  readonly required: readonly Weighed[];
  /** By segment: 1 for each document that must not be found; null where there is none. */
  readonly barred: readonly (Uint8Array | null)[];
}

/** What was found. */
export interface Found {
  readonly total: number;
  /** By segment: 0 for what was not found. */
  readonly chosen: readonly Uint8Array[];
  readonly best: readonly Hit[];
}

/** A document that was found: its segment's place in the view and its own in the segment. */
export interface Hit {
  readonly segment: number;
  readonly at: number;
  readonly score: number;
  /** The fields that words were found in, a bit for each. */
  readonly fields: number;
}

/** BM25's inverse document frequency, always above 0, times `boost`. Only documents that may be seen are counted. */
export function weigh(visible: Visible, lists: ClauseLists, boost = 1): Weighed {
  let documents = 0;
  for (const [at, list] of lists.entries()) documents += countVisible(visible.segments[at]!, list);
  return { lists, weight: boost * Math.log(1 + (visible.count - documents + 0.5) / (documents + 0.5)) };
}

function countVisible({ hidden }: VisibleSegment, list: Postings | null): number {
  if (list === null) return 0;
  if (hidden === null) return list.count;
  let seen = 0;
  walk(list, (document) => {
    seen += 1 - hidden[document]!;
  });
  return seen;
}

/** As `eachPosting`, for words alone. */
function walk({ bytes, start, end }: Postings, call: (document: number, at: number) => void): void {
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
    while (bytes[at++]! < lastField);
  }
}

/** Finds the documents with all required clauses and, where there are wanted ones, any of those. The best come first. */
export async function match(visible: Visible, sought: Sought, most: number, pace: Pace): Promise<Found> {
  const best = new Best(visible, most);
  const chosen: Uint8Array[] = [];
  let total = 0;
  for (const index of visible.segments.keys()) {
    const scored = clearScores(visible.segments[index]!.of.columns.size);
    const marks = await scoreSegment(visible, sought, index, scored, pace);
    total += keepBest(best, index, marks, scored);
    chosen.push(marks);
    spareScores = scored;
  }
  return { total, chosen, best: best.sorted() };
}

/** Adds up scores in one segment, and gives 1 for each document that is found. */
async function scoreSegment(
  visible: Visible,
  { wanted, required, barred }: Sought,
  index: number,
  scored: Scored,
  pace: Pace,
): Promise<Uint8Array> {
  const segment = visible.segments[index]!;
  const { size } = segment.of.columns;
  const marks = new Uint8Array(size);
  for (const { lists, weight } of wanted) {
    await pace.breathe();
    if (lists[index] !== null) addScores(lists[index]!, weight, visible, segment, scored, null, 0);
  }
  const { scores } = scored;
  if (wanted.length === 0) marks.fill(1);
  else for (let at = 0; at < size; at++) if (scores[at]! > 0) marks[at] = 1;
  for (const mask of [segment.hidden, barred[index] ?? null])
    if (mask !== null) for (let at = 0; at < size; at++) if (mask[at] !== 0) marks[at] = 0;
  // A required clause passes on those documents alone that had all before it.
  for (const [number, { lists, weight }] of required.entries()) {
    await pace.breathe();
    if (lists[index] !== null) addScores(lists[index]!, weight, visible, segment, scored, marks, number + 1);
  }
  if (required.length > 0)
    for (let at = 0; at < size; at++) marks[at] = marks[at] === required.length + 1 ? 1 : 0;
  return marks;
}

/**
 * Adds what a clause is worth to its documents, and notes the fields that it was found in. Where there are marks, only
 * documents with the mark `stage` count, and theirs goes up by one. Searches spend their time here.
 */
function addScores(
  { bytes, start, end }: Postings,
  weight: number,
  { norms }: Visible,
  { of }: VisibleSegment,
  { scores, fields }: Scored,
  marks: Uint8Array | null,
  stage: number,
): void {
  const { lengths } = of.columns;
  const most = weight * (bm25Saturation + 1);
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
    if (marks !== null) {
      if (marks[document] !== stage) {
        while (bytes[at++]! < lastField);
        continue;
      }
      marks[document] = stage + 1;
    }
    let frequency = 0;
    let entry: number;
    do {
      entry = bytes[at++]!;
      const field = (entry >> 4) & 7;
      frequency += norms[field]![lengths[field]![document]!]! * countOfLevel[entry & 15]!;
      fields[document]! |= 1 << field;
    } while (entry < lastField);
    scores[document]! += (most * frequency) / (frequency + bm25Saturation);
  }
}

/** Puts what is marked into the heap, and counts it. */
function keepBest(best: Best, segment: number, marks: Uint8Array, { scores, fields }: Scored): number {
  let total = 0;
  for (let at = 0; at < marks.length; at++) {
    if (marks[at] === 0) continue;
    total++;
    if (scores[at]! >= best.least) best.add(segment, at, scores[at]!, fields[at]!);
  }
  return total;
}

interface Scored {
  readonly scores: Float64Array;
  readonly fields: Uint8Array;
}

let spareScores: Scored | null = null;

/** Room to add up in, as a rule the same each time: to make it anew costs as much as a search. */
function clearScores(size: number): Scored {
  const spare = spareScores;
  // Another search may come while it is in use, and makes its own.
  spareScores = null;
  if (spare === null || spare.scores.length < size)
    return { scores: new Float64Array(size), fields: new Uint8Array(size) };
  spare.scores.fill(0, 0, size);
  spare.fields.fill(0, 0, size);
  return spare;
}

/** Everything that is not barred, the newest first: what a search without words gives. */
export async function newest(
  visible: Visible,
  barred: readonly (Uint8Array | null)[],
  most: number,
  pace: Pace,
): Promise<Found> {
  const best = new Best(visible, most);
  let total = 0;
  const chosen: Uint8Array[] = [];
  for (const [index, { of, hidden }] of visible.segments.entries()) {
    await pace.breathe();
    const marks = new Uint8Array(of.columns.size);
    for (let at = 0; at < marks.length; at++) {
      if (hidden?.[at] === 1 || barred[index]?.[at] === 1) continue;
      marks[at] = 1;
      total++;
      const published = of.columns.published[at]!;
      best.add(index, at, Number.isNaN(published) ? Number.NEGATIVE_INFINITY : published);
    }
    chosen.push(marks);
  }
  return { total, chosen, best: best.sorted().map((hit) => ({ ...hit, score: 0 })) };
}

/** The fields that clauses are found in, for some hits. */
export function findFields(visible: Visible, clauses: readonly Weighed[], hits: readonly Hit[]): number[] {
  const bySegment = visible.segments.map(() => new Map<number, number>());
  for (const { segment, at } of hits) bySegment[segment]!.set(at, 0);
  for (const [index, wanted] of bySegment.entries()) {
    if (wanted.size === 0) continue;
    for (const { lists } of clauses) if (lists[index] !== null) addFields(lists[index]!, wanted);
  }
  return hits.map(({ segment, at }) => bySegment[segment]!.get(at)!);
}

function addFields(list: Postings, wanted: Map<number, number>): void {
  const { bytes } = list;
  walk(list, (document, start) => {
    const known = wanted.get(document);
    if (known === undefined) return;
    let fields = known;
    for (let at = start; ; at++) {
      fields |= 1 << ((bytes[at]! >> 4) & 7);
      if (bytes[at]! >= lastField) break;
    }
    wanted.set(document, fields);
  });
}

/** Keeps the best of many, in the end best first. Equal ones are ordered by their sort keys. */
export class Best {
  /** What scores less has no chance. */
  least = Number.NEGATIVE_INFINITY;
  readonly #visible: Visible;
  readonly #most: number;
  /** A heap: the worst of those kept is the first. */
  readonly #heap: Hit[] = [];

  constructor(visible: Visible, most: number) {
    this.#visible = visible;
    this.#most = most;
    if (most === 0) this.least = Number.POSITIVE_INFINITY;
  }

  add(segment: number, at: number, score: number, fields = 0): void {
    const heap = this.#heap;
    if (score < this.least || this.#most === 0) return;
    const hit = { segment, at, score, fields };
    if (heap.length < this.#most) {
      heap.push(hit);
      this.#rise();
    } else if (this.#compare(hit, heap[0]!) < 0) {
      heap[0] = hit;
      this.#sink();
    }
    if (heap.length === this.#most) this.least = heap[0]!.score;
  }

  sorted(): Hit[] {
    return this.#heap.toSorted((one, other) => this.#compare(one, other));
  }

  /** Negative where `one` is better. */
  #compare(one: Hit, other: Hit): number {
    if (one.score !== other.score) return one.score > other.score ? -1 : 1;
    return compareKeys(this.#visible, one, other);
  }

  #rise(): void {
    const heap = this.#heap;
    for (let at = heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (this.#compare(heap[at]!, heap[parent]!) <= 0) return;
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
      at = parent;
    }
  }

  #sink(): void {
    const heap = this.#heap;
    for (let at = 0; ;) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < heap.length && this.#compare(heap[child]!, heap[worst]!) > 0) worst = child;
      if (worst === at) return;
      [heap[at], heap[worst]] = [heap[worst]!, heap[at]!];
      at = worst;
    }
  }
}

interface Placed {
  readonly segment: number;
  readonly at: number;
}

/** By sort keys; most differ in what is at hand as a number. */
export function compareKeys({ segments }: Visible, one: Placed, other: Placed): number {
  const [mine, theirs] = [segments[one.segment]!.of.columns, segments[other.segment]!.of.columns];
  const difference = mine.sortNumbers[one.at]! - theirs.sortNumbers[other.at]!;
  if (difference !== 0) return difference;
  return Buffer.compare(keyAt(mine.sortKeys, one.at), keyAt(theirs.sortKeys, other.at));
}

const keyAt = (keys: Uint8Array, at: number): Uint8Array =>
  keys.subarray(at * sortKeyBytes, (at + 1) * sortKeyBytes);

/** By segment: 1 for each document that must not be found. */
export type Barred = (Uint8Array | null)[];

export const barNothing = ({ segments }: Visible): Barred => segments.map(() => null);

const marksOf = (visible: Visible, barred: Barred, index: number): Uint8Array =>
  (barred[index] ??= new Uint8Array(visible.segments[index]!.of.columns.size));

const valuesAtOnce = 200;

/** Bars what does not fit a filter. Each value is tried once, however many documents have it. */
export async function barByFilter(
  visible: Visible,
  barred: Barred,
  { facet, wanted, negated }: FacetFilter,
  pace: Pace,
): Promise<void> {
  const { fits } = facets[facet]!;
  for (const [index, { of }] of visible.segments.entries()) {
    const { codes, values } = of.columns.facets[facet]!;
    const fitting: boolean[] = [];
    for (const { values: own, also } of values) {
      if (fitting.length % valuesAtOnce === 0) await pace.breathe();
      fitting.push((own.some(fitsWanted) || also.some(fitsWanted)) !== negated);
    }
    const marks = marksOf(visible, barred, index);
    for (let at = 0; at < marks.length; at++) if (!fitting[codes[at]!]) marks[at] = 1;
  }

  function fitsWanted(value: string): boolean {
    return fits(value, wanted);
  }
}

/** Bars what holds a clause. */
export function barClause(visible: Visible, barred: Barred, lists: ClauseLists): void {
  for (const [index, list] of lists.entries()) {
    if (list === null) continue;
    const marks = marksOf(visible, barred, index);
    walk(list, (at) => (marks[at] = 1));
  }
}

/** Bars all but these documents, or these. */
export function barDocuments(
  visible: Visible,
  barred: Barred,
  documents: readonly Uint8Array[],
  negated: boolean,
): void {
  for (const [index, own] of documents.entries()) {
    const marks = marksOf(visible, barred, index);
    for (let at = 0; at < marks.length; at++) if ((own[at] !== 0) === negated) marks[at] = 1;
  }
}
