/** Writes DER, the encoding of certificates: each value as its tag, its length and its content. It reads nothing. */

export const sequence = (...parts: readonly Buffer[]): Buffer => encode(0x30, ...parts);
export const set = (...parts: readonly Buffer[]): Buffer => encode(0x31, ...parts);
export const encodeOctetString = (content: Buffer): Buffer => encode(0x04, content);
export const utf8String = (text: string): Buffer => encode(0x0c, Buffer.from(text, 'utf8'));
export const trueValue = (): Buffer => encode(0x01, Buffer.from([0xff]));

/** Of a positive number: a first bit that is set would make it negative. */
export function encodeInteger(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = start === -1 ? Buffer.from([0]) : bytes.subarray(start);
  return encode(0x02, digits[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits);
}

export const encodeBitString = (content: Buffer, unusedBits = 0): Buffer =>
  encode(0x03, Buffer.from([unusedBits]), content);

/** A field with a number; its content is that of the type itself, or a whole value inside. */
export const numberedField = (number: number, content: Buffer, kind: 'value' | 'inside'): Buffer =>
  encode((kind === 'inside' ? 0xa0 : 0x80) | number, content);

export function objectIdentifier(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number);
  return encode(0x06, Buffer.from([first! * 40 + second!, ...rest.flatMap(toBase128)]));
}

function toBase128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

/** To the second. Years from 2050 on have four digits. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\.\d+|[-:T]/g, '');
  return digits < '2050' ? encode(0x17, Buffer.from(digits.slice(2))) : encode(0x18, Buffer.from(digits));
}

function encode(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), toLength(content.length), content]);
}

function toLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const digits: number[] = [];
  for (let left = length; left > 0; left >>>= 8) digits.unshift(left & 0xff);
  return Buffer.from([0x80 | digits.length, ...digits]);
}
