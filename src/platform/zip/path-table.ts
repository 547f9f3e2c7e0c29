import { randomFillSync } from 'node:crypto';

/** A range of bytes. It is reused, since a view for every name would cost more than its hash. */
export interface Span {
  bytes: Buffer;
  start: number;
  end: number;
}

/** Finds members by their paths, in 8 to 16 bytes for each and without a string of any of them. */
export interface PathTable {
  /** Returns the member that has the same path already, or null after adding this one. */
  add(index: number): number | null;
  find(path: Buffer): number | null;
}

/** `locate` writes to `found` where the bytes of the path of a member are. */
export function createPathTable(count: number, locate: (index: number, found: Span) => void): PathTable {
  const slots = new Uint32Array(2 ** Math.ceil(Math.log2(count * 2 + 2)));
  const seed = randomFillSync(new Uint32Array(2));
  const [key, other] = [createEmptySpan(), createEmptySpan()];
  // The slot with the member of this path, or the free one where it belongs. There always is a free one.
  const slotOfKey = () => {
    let slot = halfSipHash(key, seed) & (slots.length - 1);
    while (slots[slot] !== 0) {
      locate(slots[slot]! - 1, other);
      if (areEqual(key, other)) break;
      slot = (slot + 1) & (slots.length - 1);
    }
    return slot;
  };
  return {
    add(index) {
      locate(index, key);
      const slot = slotOfKey();
      if (slots[slot] !== 0) return slots[slot]! - 1;
      slots[slot] = index + 1;
      return null;
    },
    find(path) {
      Object.assign(key, { bytes: path, start: 0, end: path.length });
      const slot = slotOfKey();
      return slots[slot] === 0 ? null : slots[slot]! - 1;
    },
  };
}

function createEmptySpan(): Span {
  return { bytes: Buffer.alloc(0), start: 0, end: 0 };
}

function areEqual(one: Span, other: Span): boolean {
  if (one.end - one.start !== other.end - other.start) return false;
  return one.bytes.compare(other.bytes, other.start, other.end, one.start, one.end) === 0;
}

/** HalfSipHash-1-3: with a secret seed nobody can choose names that all fall into the same slot. */
function halfSipHash({ bytes, start, end }: Span, seed: Uint32Array): number {
  let [v0, v1] = [seed[0]! | 0, seed[1]! | 0];
  let [v2, v3] = [0x6c796765 ^ v0, 0x74656462 ^ v1];
  const words = ((end - start) >> 2) + 1;
  for (let word = 0; word < words + 3; word++) {
    const block = word < words ? readHashBlock(bytes, start + word * 4, end, end - start) : 0;
    if (word === words) v2 ^= 0xff;
    v3 ^= block;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= block;
  }
  return v1 ^ v3;
}

/** Four bytes; the last block is filled up with zeros and the length. */
function readHashBlock(bytes: Buffer, at: number, end: number, length: number): number {
  if (at + 4 <= end)
    return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  let block = length << 24;
  for (let next = at; next < end; next++) block |= bytes[next]! << ((next - at) * 8);
  return block;
}
