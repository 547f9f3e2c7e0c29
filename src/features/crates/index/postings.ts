/** The bytes of keys and postings. */
/**
 * Keys of the index are strings with a character for each byte of their UTF-8: they are compared as bytes are, and far
 * quicker. The first character says what is found under them; NUL is between the parts.
 */
export const kinds = {
  /** Entities that have a property of a value: property, type, folded value, value. */
  entity: 'e',
  /** Which documents have entities of a type with a property. */
  property: 'k',
  /** Where in documents a stem stands. */
  positions: 'p',
  /** Which documents hold a word as it was written, where that is not its stem. */
  form: 'u',
  /** Which documents hold a stem, in which fields and how often. */
  word: 'w',
} as const;

const ascii = /^\p{ASCII}*$/u;

/** A text as part of a key. NUL is no text. */
export function asKey(text: string): string {
  if (ascii.test(text) && !text.includes('\0')) return text;
  return Buffer.from(text.replaceAll('\0', '\ufffd'), 'utf8').toString('latin1');
}

/** The text that part of a key stands for. */
export const fromKey = (key: string): string => Buffer.from(key, 'latin1').toString('utf8');

export const wordKey = (stem: string): string => kinds.word + asKey(stem);
export const positionsKey = (stem: string): string => kinds.positions + asKey(stem);
export const formKey = (form: string): string => kinds.form + asKey(form);
export const propertyKey = (type: string, property: string): string =>
  `${kinds.property}${asKey(type)}\0${asKey(property)}`;

/** The first key after all that begin with `prefix`. */
export function afterPrefix(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  return last === 255
    ? afterPrefix(prefix.slice(0, -1))
    : prefix.slice(0, -1) + String.fromCharCode(last + 1);
}

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

/** Bytes that grow as they are written. Numbers are whole and not negative, seven bits a byte, the lowest first. */
export class ByteWriter {
  #bytes: Uint8Array;
  length = 0;

  constructor(capacity = 64) {
    this.#bytes = new Uint8Array(capacity);
  }

  byte(value: number): void {
    if (this.length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.length++] = value;
  }

  number(value: number): void {
    let rest = value;
    // Beyond 32 bits the operators on bits would cut it.
    while (rest > 0x7fff_ffff) {
      this.byte((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    while (rest > 127) {
      this.byte((rest & 127) | 128);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  bytes(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.#bytes.length) this.#grow(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** A character for each byte, as keys are. */
  latin1(text: string): void {
    if (this.length + text.length > this.#bytes.length) this.#grow(text.length);
    for (let at = 0; at < text.length; at++) this.#bytes[this.length + at] = text.charCodeAt(at);
    this.length += text.length;
  }

  /** What was written so far, as a copy. */
  taken(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }

  /** What was written so far, good until the next write. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  #grow(more: number): void {
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + more));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}

/** Bytes that are read from front to back. */
export class ByteReader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get ended(): boolean {
    return this.at >= this.bytes.length;
  }

  number(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 128) return byte;
    let value = byte & 127;
    let factor = 128;
    do {
      byte = bytes[this.at++]!;
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return value;
  }

  take(length: number): Uint8Array {
    return this.bytes.subarray(this.at, (this.at += length));
  }

  latin1(length: number): string {
    const { buffer, byteOffset } = this.bytes;
    const text = Buffer.from(buffer, byteOffset + this.at, length).toString('latin1');
    this.at += length;
    return text;
  }
}
