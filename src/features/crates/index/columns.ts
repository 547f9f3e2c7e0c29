/** What a segment keeps of each document besides words, to score, sort, filter and count by. */
import { facets, type FacetValues } from '../query/facets.ts';
import { textFields } from '../query/text-fields.ts';
import { ByteReader, ByteWriter } from './postings.ts';

export const sortKeyBytes = 16;

/** Numbers that stand for values: few values, many documents. */
export interface Coded<T> {
  readonly codes: Uint8Array | Uint16Array | Uint32Array;
  readonly values: readonly T[];
}

/** What a segment keeps of each document besides words, to score, sort, filter and count by. */
export interface Columns {
  readonly size: number;
  /** Numbers in the index, growing. */
  readonly documents: Float64Array;
  readonly sortKeys: Uint8Array;
  /** The first six bytes of each sort key, as a number. */
  readonly sortNumbers: Float64Array;
  /** Of each field, a byte for each document: see `lengthByte`. */
  readonly lengths: readonly Uint8Array[];
  /** When it was published, in milliseconds; NaN where that is not known. */
  readonly published: Float64Array;
  readonly owners: Coded<string | null>;
  readonly facets: readonly Coded<FacetValues>[];
}

/** One document's share of them. */
export interface ColumnRow {
  readonly sortKey: Uint8Array;
  readonly lengths: readonly number[];
  readonly published: number | null;
  readonly owner: string | null;
  readonly facets: readonly FacetValues[];
}

/** Gathers columns row by row. */
export class ColumnsWriter {
  readonly #sortKeys = new ByteWriter(1024);
  readonly #lengths = textFields.map(() => new ByteWriter());
  readonly #published: number[] = [];
  readonly #owners = new Coder<string | null>();
  readonly #facets = facets.map(() => new Coder<FacetValues>());
  readonly #documents: number[] = [];

  /** A document without its number: those of a batch are numbered when it is written. */
  add(row: ColumnRow): void {
    this.#sortKeys.bytes(row.sortKey);
    for (const [at, column] of this.#lengths.entries()) column.byte(row.lengths[at]!);
    this.#published.push(row.published ?? Number.NaN);
    this.#owners.add(row.owner);
    for (const [at, coder] of this.#facets.entries()) coder.add(row.facets[at]!);
  }

  /** The documents of another segment but for those that `isDead`. */
  addAll(columns: Columns, isDead: (at: number) => boolean): void {
    const owner = this.#owners.translating(columns.owners);
    const translated = this.#facets.map((coder, at) => coder.translating(columns.facets[at]!));
    for (let at = 0; at < columns.size; at++) {
      if (isDead(at)) continue;
      this.#documents.push(columns.documents[at]!);
      this.#sortKeys.bytes(columns.sortKeys.subarray(at * sortKeyBytes, (at + 1) * sortKeyBytes));
      for (const [field, column] of this.#lengths.entries()) column.byte(columns.lengths[field]![at]!);
      this.#published.push(columns.published[at]!);
      owner(at);
      for (const add of translated) add(at);
    }
  }

  get size(): number {
    return this.#published.length;
  }

  /** Numbered from `first`, unless they have numbers of their own. */
  end(first: number | null): Uint8Array {
    const { size } = this;
    const numbers = first === null ? this.#documents : Array.from({ length: size }, (_, at) => first + at);
    const writer = new ByteWriter(size * 64 + 1024);
    writer.number(size);
    let last = 0;
    for (const number of numbers) {
      writer.number(number - last);
      last = number;
    }
    writer.bytes(this.#sortKeys.view());
    for (const column of this.#lengths) writer.bytes(column.view());
    writer.bytes(new Uint8Array(Float64Array.from(this.#published).buffer));
    this.#owners.writeTo(writer);
    for (const coder of this.#facets) coder.writeTo(writer);
    return writer.taken();
  }
}

class Coder<T> {
  readonly #codes: number[] = [];
  readonly #byText = new Map<string, number>();

  add(value: T): void {
    this.#codes.push(this.#codeOf(JSON.stringify(value)));
  }

  translating({ codes, values }: Coded<T>): (at: number) => void {
    const own = values.map(() => -1);
    return (at) => {
      const code = codes[at]!;
      if (own[code] === -1) own[code] = this.#codeOf(JSON.stringify(values[code]));
      this.#codes.push(own[code]!);
    };
  }

  #codeOf(text: string): number {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    this.#byText.set(text, this.#byText.size);
    return this.#byText.size - 1;
  }

  writeTo(writer: ByteWriter): void {
    const values = Buffer.from(`[${[...this.#byText.keys()].join(',')}]`);
    writer.number(values.length);
    writer.bytes(values);
    for (const code of this.#codes) writer.number(code);
  }
}

export function readColumns(bytes: Uint8Array): Columns {
  const reader = new ByteReader(bytes);
  const size = reader.number();
  const documents = new Float64Array(size);
  for (let at = 0, last = 0; at < size; at++) documents[at] = last += reader.number();
  const sortKeys = new Uint8Array(reader.take(size * sortKeyBytes));
  const lengths = textFields.map(() => new Uint8Array(reader.take(size)));
  const published = new Float64Array(new Uint8Array(reader.take(size * 8)).buffer);
  const owners = readCoded<string | null>(reader, size);
  const all = facets.map(() => readCoded<FacetValues>(reader, size));
  const sortNumbers = sortNumbersOf(sortKeys, size);
  return { size, documents, sortKeys, sortNumbers, lengths, published, owners, facets: all };
}

function readCoded<T>(reader: ByteReader, size: number): Coded<T> {
  const text = Buffer.from(reader.take(reader.number())).toString('utf8');
  const values = JSON.parse(text) as T[];
  const codes = narrowest(values.length, size);
  for (let at = 0; at < size; at++) codes[at] = reader.number();
  return { codes, values };
}

function narrowest(values: number, size: number): Uint8Array | Uint16Array | Uint32Array {
  if (values <= 2 ** 8) return new Uint8Array(size);
  return values <= 2 ** 16 ? new Uint16Array(size) : new Uint32Array(size);
}

function sortNumbersOf(sortKeys: Uint8Array, size: number): Float64Array {
  const keys = Buffer.from(sortKeys.buffer, sortKeys.byteOffset, sortKeys.length);
  return Float64Array.from({ length: size }, (_, at) => keys.readUIntBE(at * sortKeyBytes, 6));
}
