import { positionsPerField } from './gathering.ts';
import { ByteReader } from './bytes.ts';
import type { Pace } from './pace.ts';
import { passEntry, type Postings } from './postings.ts';
import { WordPostingsWriter } from './postings-of-field.ts';
import { textFields } from '../query/text-fields.ts';

const documentsAtOnce = 200;

/** Where in a segment the words of a phrase stand one after the other, from the positions of each; null for nowhere. */
export async function phraseIn(
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
