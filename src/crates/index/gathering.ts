import { WordNumbers } from '../text/words.ts';
import { ByteWriter } from './bytes.ts';
import { asKey, kinds } from './keys.ts';
import { fieldEntry, lastField, writeHead } from './postings.ts';

interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Positions of a field begin at its number times this, and no more of its words are looked at. */
export const positionsPerField = 2 ** 20;

let shared = new WordNumbers();
const mostShared = 100_000;

/** From one batch to the next, since they have most words in common; anew where there are too many. */
function shareNumbers(): WordNumbers {
  if (shared.words.length > mostShared) shared = new WordNumbers();
  return shared;
}

/** Gathers what a batch of documents holds, document by document, as postings. */
export class Gathering {
  readonly #numbers = shareNumbers();
  /** By the number of a word: its stem and its form in the lists below, from 1 on; 0 where that is not known, or none. */
  #stemOf = new Int32Array(this.#numbers.words.length + 1024);
  #formOf = new Int32Array(this.#stemOf.length);
  readonly #entities = new Occurrences();
  readonly #stems = new Occurrences();
  readonly #forms = new Occurrences();

  /** Keys that begin with this. */
  group(prefix: string): KeyGroup {
    return this.#entities.group(prefix);
  }

  /** A document under a key of a group with a number of it, such as that of an entity. They have to come in order. */
  number(group: KeyGroup, rest: string, document: number, number: number): void {
    this.#entities.add(this.#entities.name(group, rest), document, number);
  }

  /** A document under a key of a group, and nothing about it. */
  document(group: KeyGroup, rest: string, document: number): void {
    this.#entities.add(this.#entities.name(group, rest), document, -1);
  }

  /** The texts of a field; gives how many words there are. */
  field(field: number, document: number, texts: readonly string[]): number {
    const first = field * positionsPerField;
    let position = 0;
    let words = 0;
    for (const text of texts) {
      this.#numbers.each(text, (number) => {
        if (position >= positionsPerField) return;
        if (number >= this.#stemOf.length || this.#stemOf[number] === 0) this.#learn(number);
        this.#stems.add(this.#stemOf[number]! - 1, document, first + position++);
        if (this.#formOf[number] !== 0) this.#forms.add(this.#formOf[number]! - 1, document, first);
        words++;
      });
      // A phrase does not go from one name to the next.
      position++;
    }
    return words;
  }

  #learn(number: number): void {
    if (number >= this.#stemOf.length) {
      this.#stemOf = enlarge(this.#stemOf, number * 2);
      this.#formOf = enlarge(this.#formOf, number * 2);
    }
    const { stem, form } = this.#numbers.words[number]!;
    this.#stemOf[number] = this.#stems.name(this.#stems.group(kinds.word), asKey(stem)) + 1;
    if (form !== stem)
      this.#formOf[number] = this.#forms.name(this.#forms.group(kinds.form), asKey(form)) + 1;
  }

  /** Keys in order with what is found under them. The bytes are good until the next. */
  *sorted(): Generator<Entry> {
    // In the order of the kinds, see keys.ts.
    const entities = this.#entities.sort();
    for (const run of entities.runs) yield { key: run.key, value: entities.writeNumbers(run) };
    const words = this.#stems.sort();
    for (const run of words.runs)
      yield { key: kinds.positions + run.key.slice(1), value: words.writeNumbers(run) };
    const forms = this.#forms.sort();
    for (const run of forms.runs) yield { key: run.key, value: forms.writeFields(run) };
    for (const run of words.runs) yield { key: run.key, value: words.writeFields(run) };
  }
}

/** What follows a prefix in keys, with a number for each. */
export type KeyGroup = Map<string, number>;

/** Which key is met in which document, with a number: noted in typed arrays, since there may be millions. */
class Occurrences {
  /** By prefix: keys are found and compared without what most of them have in common. */
  readonly #groups = new Map<string, KeyGroup>();
  #count = 0;
  #size = 0;
  #capacity = 1 << 14;
  #idOf = new Int32Array(this.#capacity);
  #documents = new Int32Array(this.#capacity);
  #numbers = new Int32Array(this.#capacity);

  group(prefix: string): KeyGroup {
    let group = this.#groups.get(prefix);
    if (group === undefined) this.#groups.set(prefix, (group = new Map()));
    return group;
  }

  /** A number for a key, always the same. */
  name(group: KeyGroup, rest: string): number {
    let id = group.get(rest);
    if (id === undefined) group.set(rest, (id = this.#count++));
    return id;
  }

  add(id: number, document: number, number: number): void {
    if (this.#size === this.#capacity) this.#grow();
    this.#idOf[this.#size] = id;
    this.#documents[this.#size] = document;
    this.#numbers[this.#size++] = number;
  }

  #grow(): void {
    this.#capacity *= 2;
    this.#idOf = enlarge(this.#idOf, this.#capacity);
    this.#documents = enlarge(this.#documents, this.#capacity);
    this.#numbers = enlarge(this.#numbers, this.#capacity);
  }

  /** By key; what is under one key stays in its order. */
  sort(): SortedOccurrences {
    const starts = new Int32Array(this.#count + 1);
    for (let at = 0; at < this.#size; at++) starts[this.#idOf[at]! + 1]!++;
    for (let id = 0; id < this.#count; id++) starts[id + 1]! += starts[id]!;
    const next = starts.slice();
    const documents = new Int32Array(this.#size);
    const numbers = new Int32Array(this.#size);
    for (let at = 0; at < this.#size; at++) {
      const to = next[this.#idOf[at]!]!++;
      documents[to] = this.#documents[at]!;
      numbers[to] = this.#numbers[at]!;
    }
    const runs: Run[] = [];
    for (const prefix of [...this.#groups.keys()].sort()) {
      const group = this.#groups.get(prefix)!;
      for (const rest of [...group.keys()].sort()) {
        const id = group.get(rest)!;
        runs.push({ key: prefix + rest, from: starts[id]!, to: starts[id + 1]! });
      }
    }
    return new SortedOccurrences(runs, documents, numbers);
  }
}

function enlarge(numbers: Int32Array<ArrayBuffer>, capacity: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(capacity);
  larger.set(numbers);
  return larger;
}

interface Run {
  readonly key: string;
  readonly from: number;
  readonly to: number;
}

class SortedOccurrences {
  readonly runs: readonly Run[];
  readonly #documents: Int32Array;
  readonly #numbers: Int32Array;
  readonly #writer = new ByteWriter(1024);

  constructor(runs: readonly Run[], documents: Int32Array, numbers: Int32Array) {
    this.runs = runs;
    this.#documents = documents;
    this.#numbers = numbers;
  }

  /** Each document with its numbers, as distances, and a zero. */
  writeNumbers(run: Run): Uint8Array {
    const writer = this.#begin(run);
    let document = -1;
    let last = -1;
    for (let at = run.from; at < run.to; at++) {
      if (this.#documents[at] !== document) {
        if (document !== -1) writer.byte(0);
        writer.number(this.#documents[at]! - document - 1);
        document = this.#documents[at]!;
        last = -1;
      }
      const number = this.#numbers[at]!;
      if (number !== last) writer.number(number - last);
      last = number;
    }
    writer.byte(0);
    return writer.view();
  }

  /** Each document with the fields that the word is in, and how often. */
  writeFields(run: Run): Uint8Array {
    const writer = this.#begin(run);
    let document = -1;
    for (let at = run.from; at < run.to;) {
      writer.number(this.#documents[at]! - document - 1);
      document = this.#documents[at]!;
      while (at < run.to && this.#documents[at] === document) {
        const field = Math.floor(this.#numbers[at]! / positionsPerField);
        const end = (field + 1) * positionsPerField;
        let count = 0;
        while (at < run.to && this.#documents[at] === document && this.#numbers[at]! < end) {
          at++;
          count++;
        }
        const isLast = at === run.to || this.#documents[at] !== document;
        writer.byte(fieldEntry(field, count) | (isLast ? lastField : 0));
      }
    }
    return writer.view();
  }

  #begin({ from, to }: Run): ByteWriter {
    let count = 0;
    for (let at = from; at < to; at++)
      if (at === from || this.#documents[at] !== this.#documents[at - 1]) count++;
    this.#writer.clear();
    writeHead(this.#writer, count, this.#documents[to - 1]!);
    return this.#writer;
  }
}
