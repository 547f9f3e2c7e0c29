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
