import { ByteWriter } from './bytes.ts';
import {
  countOfLevel,
  eachPosting,
  fieldEntry,
  lastField,
  postingsIn,
  writeHead,
  type Postings,
} from './postings.ts';
import { textFields } from '../query/text-fields.ts';

/** Postings of words made while searching, document by document. */
export class WordPostingsWriter {
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
export function addCounts(counts: Uint32Array, bytes: Uint8Array, at: number, from: number): void {
  for (let index = at; ; index++) {
    const entry = bytes[index]!;
    counts[from + ((entry >> 4) & 7)]! += countOfLevel[entry & 15]!;
    if (entry >= lastField) return;
  }
}

/** Those documents that have the word in one field; all of them where there is none. */
export function onlyInField(list: Postings | null, field: number | null): Postings | null {
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
