import type { WordToken } from '../text/words.ts';
import { ByteWriter } from './bytes.ts';
import { formKey, positionsKey, wordKey } from './keys.ts';
import { fieldEntry, lastField, writeHead } from './postings.ts';

/**
 * What is found under a key while a batch is gathered: documents, the last one, two numbers about it that depend on
 * the kind, then bytes. Plain arrays, since there may be a million of them, most with a few bytes.
 */
type Gathered = number[];
const [documents, lastDocument, lastNumber, howOften, firstByte] = [0, 1, 2, 3, 4];

interface GatheredWord {
  readonly fields: Gathered;
  readonly positions: Gathered;
}

interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Gathers what a batch of documents holds, document by document, as postings. */
export class Gathering {
  readonly #numbered = new Map<string, Gathered>();
  // By the word itself, since a key would have to be made for each time that it is met.
  readonly #words = new Map<string, GatheredWord>();
  readonly #forms = new Map<string, Gathered>();

  /** A number of a document under a key, such as that of an entity. They have to come in order. */
  number(key: string, document: number, number: number): void {
    let gathered = this.#numbered.get(key);
    if (gathered === undefined) this.#numbered.set(key, (gathered = empty()));
    addNumber(gathered, document, number);
  }

  /** A document under a key, and nothing about it. */
  document(key: string, document: number): void {
    let gathered = this.#numbered.get(key);
    if (gathered === undefined) this.#numbered.set(key, (gathered = empty()));
    if (gathered[lastDocument] !== document) beginNumbered(gathered, document);
  }

  word({ stem, form }: WordToken, document: number, field: number, position: number): void {
    let word = this.#words.get(stem);
    if (word === undefined) this.#words.set(stem, (word = { fields: empty(), positions: empty() }));
    addField(word.fields, document, field);
    addNumber(word.positions, document, position);
    if (form === stem) return;
    let gathered = this.#forms.get(form);
    if (gathered === undefined) this.#forms.set(form, (gathered = empty()));
    addField(gathered, document, field);
  }

  /** Keys in order with what is found under them. The bytes are good until the next. */
  *sorted(): Generator<Entry> {
    // In the order of the kinds, see keys.ts.
    for (const key of [...this.#numbered.keys()].sort()) yield ended(key, this.#numbered.get(key)!, false);
    const words = Array.from(this.#words, ([stem, word]) => ({ key: wordKey(stem), stem, ...word }));
    words.sort((one, other) => (one.key < other.key ? -1 : 1));
    for (const { stem, positions } of words) yield ended(positionsKey(stem), positions, false);
    const forms = Array.from(this.#forms, ([form, fields]) => ({ key: formKey(form), fields }));
    forms.sort((one, other) => (one.key < other.key ? -1 : 1));
    for (const { key, fields } of forms) yield ended(key, fields, true);
    for (const { key, fields } of words) yield ended(key, fields, true);
  }
}

const scratch = new ByteWriter(1024);

function ended(key: string, gathered: Gathered, byBit: boolean): Entry {
  if (byBit) endField(gathered, true);
  else gathered.push(0);
  scratch.clear();
  writeHead(scratch, gathered[documents]!, gathered[lastDocument]!);
  for (let at = firstByte; at < gathered.length; at++) scratch.byte(gathered[at]!);
  return { key, value: scratch.view() };
}

const empty = (): Gathered => [0, -1, -1, 0];

function addNumber(gathered: Gathered, document: number, number: number): void {
  if (gathered[lastDocument] !== document) beginNumbered(gathered, document);
  if (gathered[lastNumber] === number) return;
  pushNumber(gathered, number - gathered[lastNumber]!);
  gathered[lastNumber] = number;
}

function addField(gathered: Gathered, document: number, field: number): void {
  const isNew = gathered[lastDocument] !== document;
  if (!isNew && gathered[lastNumber] === field) {
    gathered[howOften]!++;
    return;
  }
  endField(gathered, isNew);
  if (isNew) begin(gathered, document);
  gathered[lastNumber] = field;
  gathered[howOften] = 1;
}

function beginNumbered(gathered: Gathered, document: number): void {
  if (gathered[documents]! > 0) gathered.push(0);
  begin(gathered, document);
}

function begin(gathered: Gathered, document: number): void {
  pushNumber(gathered, document - gathered[lastDocument]! - 1);
  gathered[documents]!++;
  gathered[lastDocument] = document;
  gathered[lastNumber] = -1;
}

/** Writes how often a word stood in the field before. */
function endField(gathered: Gathered, isLast: boolean): void {
  if (gathered[howOften] === 0) return;
  gathered.push(fieldEntry(gathered[lastNumber]!, gathered[howOften]!) | (isLast ? lastField : 0));
  gathered[howOften] = 0;
}

function pushNumber(gathered: Gathered, number: number): void {
  let rest = number;
  while (rest > 127) {
    gathered.push((rest & 127) | 128);
    rest >>>= 7;
  }
  gathered.push(rest);
}
