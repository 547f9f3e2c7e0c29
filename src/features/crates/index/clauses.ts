/** The postings of the clauses of a query: words of any or one field, phrases by positions, prefixes as if they were one word. */
import type { QueryClause } from '../query/parse.ts';
import { textFields } from '../query/text-fields.ts';
import { positionsPerField } from './batch.ts';
import { lookUp, scan, type BlockCache } from './blocks.ts';
import type { Pace } from './pace.ts';
import {
  ByteReader,
  ByteWriter,
  afterPrefix,
  countOfLevel,
  eachPosting,
  fieldEntry,
  formKey,
  lastField,
  passEntry,
  positionsKey,
  postingsIn,
  wordKey,
  writeHead,
  type Postings,
} from './postings.ts';
import type { ClauseLists } from './scoring.ts';
import type { Visible, VisibleSegment } from './segments.ts';

/** What clauses are read with. */
export interface Reading {
  readonly cache: BlockCache;
  readonly visible: Visible;
  readonly pace: Pace;
}

/** Reads what is needed for all clauses at once. */
export async function listsOf(
  { cache, visible, pace }: Reading,
  clauses: readonly QueryClause[],
  notes: Set<string>,
): Promise<ClauseLists[]> {
  const keys = new Map<string, number>();
  for (const key of clauses.flatMap(keysOf)) if (!keys.has(key)) keys.set(key, keys.size);
  const found = await lookUp(cache, visible.view, [...keys.keys()], pace);
  const at = (key: string): (Postings | null)[] => found[keys.get(key)!]!;
  const lists: ClauseLists[] = [];
  for (const clause of clauses) {
    await pace.breathe();
    if (clause.kind === 'word')
      lists.push(at(wordKey(clause.stem)).map((list) => onlyInField(list, clause.field)));
    else if (clause.kind === 'prefix') lists.push(await prefixLists({ cache, visible, pace }, clause, notes));
    else {
      const positions = clause.stems.map((stem) => at(positionsKey(stem)));
      const own: (Postings | null)[] = [];
      for (const index of visible.segments.keys()) {
        const here = positions.map((each) => each[index]!);
        own.push(await phraseIn(here, clause.field, pace));
      }
      lists.push(own);
    }
  }
  return lists;
}

function keysOf(clause: QueryClause): string[] {
  if (clause.kind === 'word') return [wordKey(clause.stem)];
  return clause.kind === 'phrase' ? clause.stems.map(positionsKey) : [];
}

const documentsAtOnce = 200;

/** Where in a segment the words of a phrase stand one after the other, from the positions of each; null for nowhere. */
async function phraseIn(
  positions: readonly (Postings | null)[],
  field: number | null,
  pace: Pace,
): Promise<Postings | null> {
  if (positions.includes(null)) return null;
  const cursors = positions.map((list) => new Cursor(list!));
  // The rarest word leads, so that least has to be looked at.
  const byRarity = cursors.toSorted((one, other) => one.count - other.count);
  const writer = new WordPostingsWriter();
  const counts = new Uint32Array(textFields.length);
  let met = 0;
  for (let document = nextOfAll(byRarity); document !== -1; document = nextOfAll(byRarity)) {
    if (met++ % documentsAtOnce === 0) await pace.breathe();
    counts.fill(0);
    for (const start of startsOf(cursors)) {
      const found = Math.floor(start / positionsPerField);
      if (field === null || found === field) counts[found]!++;
    }
    writer.add(document, counts);
  }
  return writer.end();
}

/** Moves all on to the next document that they have in common; -1 at the end. */
function nextOfAll(cursors: readonly Cursor[]): number {
  const [first, ...others] = cursors;
  let wanted = first!.seek(first!.document + 1);
  for (let agreeing = 0; agreeing < others.length && wanted !== -1;) {
    const reached = others[agreeing]!.seek(wanted);
    if (reached === wanted) agreeing++;
    else {
      wanted = reached === -1 ? -1 : first!.seek(reached);
      agreeing = 0;
    }
  }
  return wanted;
}

function startsOf(cursors: readonly Cursor[]): number[] {
  let starts = cursors[0]!.numbers();
  for (let index = 1; index < cursors.length && starts.length > 0; index++) {
    const here = cursors[index]!.numbers();
    let at = 0;
    starts = starts.filter((start) => {
      while (at < here.length && here[at]! < start + index) at++;
      return here[at] === start + index;
    });
  }
  return starts;
}

/** Goes through the documents of a word from front to back. */
class Cursor {
  readonly count: number;
  document = -1;
  readonly #reader: ByteReader;
  readonly #end: number;
  #entry = -1;

  constructor({ bytes, start, end, count }: Postings) {
    this.count = count;
    this.#reader = new ByteReader(bytes, start);
    this.#end = end;
  }

  /** The first document from `wanted` on; -1 where there is none. */
  seek(wanted: number): number {
    const reader = this.#reader;
    while (this.document < wanted) {
      if (this.#entry !== -1) reader.at = passEntry(reader.bytes, this.#entry, false);
      if (reader.at >= this.#end) return -1;
      this.document += reader.number() + 1;
      this.#entry = reader.at;
    }
    return this.document;
  }

  /** Where the word stands in the document. */
  numbers(): number[] {
    const reader = this.#reader;
    reader.at = this.#entry;
    const numbers: number[] = [];
    let last = -1;
    for (let more = reader.number(); more !== 0; more = reader.number()) numbers.push((last += more));
    return numbers;
  }
}

/** So many words may begin with a prefix; those that come later in the alphabet are left out. */
const mostWords = 1000;

/** The documents with words that begin with a prefix, in each segment, as if they were one word. */
async function prefixLists(
  { cache, visible, pace }: Reading,
  { prefix, field }: Extract<QueryClause, { kind: 'prefix' }>,
  notes: Set<string>,
): Promise<(Postings | null)[]> {
  const found = visible.segments.map(() => new Map<string, Postings[]>());
  for (const [at, segment] of visible.segments.entries())
    for (const start of [formKey(prefix), wordKey(prefix)])
      for await (const entries of scan(cache, segment.of, start, afterPrefix(start))) {
        await pace.breathe();
        for (const { key, postings } of entries)
          if (isSeen(segment, postings)) addTo(found[at]!, key.slice(1), postings);
      }
  const words = [...new Set(found.flatMap((lists) => [...lists.keys()]))].sort();
  if (words.length > mostWords)
    notes.add(
      `More than ${mostWords} words begin with ${prefix}; only the first ${mostWords} were searched for.`,
    );
  const chosen = new Set(words.slice(0, mostWords));
  const joined: (Postings | null)[] = [];
  for (const [at, lists] of found.entries()) {
    const some = [...lists].filter(([word]) => chosen.has(word)).flatMap(([, postings]) => postings);
    joined.push(onlyInField(await union(some, visible.segments[at]!.of.columns.size, pace), field));
  }
  return joined;
}

function addTo(lists: Map<string, Postings[]>, word: string, postings: Postings): void {
  const known = lists.get(word);
  if (known === undefined) lists.set(word, [postings]);
  else known.push(postings);
}

/** A word that only hidden documents hold must not take the place of another. */
function isSeen({ hidden }: VisibleSegment, postings: Postings): boolean {
  if (hidden === null) return true;
  let seen = false;
  eachPosting(postings, true, (document) => (seen ||= hidden[document] === 0));
  return seen;
}

async function union(lists: readonly Postings[], size: number, pace: Pace): Promise<Postings | null> {
  if (lists.length <= 1) return lists[0] ?? null;
  const width = textFields.length;
  // Each document that is met gets the next place in the counts, from 1 on.
  const placeOf = new Uint32Array(size);
  let met = 0;
  const most = lists.reduce((sum, { count }) => sum + count, 0);
  const counts = new Uint32Array((Math.min(size, most) + 1) * width);
  for (const list of lists) {
    await pace.breathe();
    eachPosting(list, true, (document, at) => {
      placeOf[document] ||= ++met;
      addCounts(counts, list.bytes, at, placeOf[document]! * width);
    });
  }
  const writer = new WordPostingsWriter();
  for (let document = 0; document < size; document++) {
    const place = placeOf[document]!;
    if (place > 0) writer.add(document, counts.subarray(place * width, (place + 1) * width));
  }
  return writer.end();
}

/** Postings of words made while searching, document by document. */
class WordPostingsWriter {
  readonly #body = new ByteWriter(1024);
  #count = 0;
  #last = -1;

  /** How often the word is in each field; nothing is written where it is in none. */
  add(document: number, counts: ArrayLike<number>): void {
    let last = counts.length - 1;
    while (last >= 0 && counts[last] === 0) last--;
    if (last < 0) return;
    this.#body.number(document - this.#last - 1);
    for (let field = 0; field <= last; field++)
      if (counts[field]! > 0)
        this.#body.byte(fieldEntry(field, counts[field]!) | (field === last ? lastField : 0));
    this.#count++;
    this.#last = document;
  }

  end(): Postings | null {
    if (this.#count === 0) return null;
    const writer = new ByteWriter(this.#body.length + 10);
    writeHead(writer, this.#count, this.#last);
    writer.bytes(this.#body.view());
    return postingsIn(writer.taken());
  }
}

/** Adds how often a word is in each field, as it stands at `at`, to the counts from `from` on. */
function addCounts(counts: Uint32Array, bytes: Uint8Array, at: number, from: number): void {
  for (let index = at; ; index++) {
    const entry = bytes[index]!;
    counts[from + ((entry >> 4) & 7)]! += countOfLevel[entry & 15]!;
    if (entry >= lastField) return;
  }
}

/** Those documents that have the word in one field; all of them where there is none. */
function onlyInField(list: Postings | null, field: number | null): Postings | null {
  if (list === null || field === null) return list;
  const writer = new WordPostingsWriter();
  const counts = new Uint32Array(textFields.length);
  eachPosting(list, true, (document, at) => {
    counts.fill(0);
    addCounts(counts, list.bytes, at, 0);
    const own = counts[field]!;
    counts.fill(0);
    counts[field] = own;
    writer.add(document, counts);
  });
  return writer.end();
}
