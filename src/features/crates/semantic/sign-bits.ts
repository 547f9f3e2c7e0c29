import { generator } from './generator.ts';

const seed = 0x51_6e_b175;
/** Fewer bits than this tell too little. */
const leastBits = 512;

/** Turns vectors into bits, of which about as many differ as the vectors do in angle. */
export interface SignBits {
  /** Words of 32 bits for each vector. */
  readonly words: number;
  write(vector: Float32Array, to: Uint32Array, start: number): void;
}

/**
 * The signs of a vector after it was turned, at random but always alike: the first dimensions of LSA hold most of what
 * there is, and their signs alone would tell little. A turn is signs flipped and a Walsh–Hadamard transform;
 * short vectors are turned in several ways for more bits.
 */
export function signBits(dimensions: number): SignBits {
  const width = Math.max(32, 2 ** Math.ceil(Math.log2(dimensions)));
  const turns = Math.max(1, leastBits / width);
  const next = generator(seed);
  const flips = Float64Array.from({ length: turns * width }, () => (next() < 0x80000000 ? 1 : -1));
  const turned = new Float64Array(width);

  function turn(vector: Float32Array, which: number): void {
    turned.fill(0);
    for (let at = 0; at < dimensions; at++) turned[at] = vector[at]! * flips[which * width + at]!;
    transform(turned);
  }

  return {
    words: (turns * width) / 32,
    write(vector, to, start) {
      for (let which = 0; which < turns; which++) {
        turn(vector, which);
        for (let at = 0; at < width; at += 32) to[start + (which * width + at) / 32] = signsFrom(turned, at);
      }
    },
  };
}

/** Walsh and Hadamard's: sums and differences of pairs, then of pairs of pairs. */
function transform(values: Float64Array): void {
  for (let half = 1; half < values.length; half *= 2)
    for (let start = 0; start < values.length; start += 2 * half)
      for (let at = start; at < start + half; at++) {
        const a = values[at]!;
        const b = values[at + half]!;
        values[at] = a + b;
        values[at + half] = a - b;
      }
}

function signsFrom(values: Float64Array, start: number): number {
  let bits = 0;
  for (let at = 0; at < 32; at++) bits = (bits << 1) | Number(values[start + at]! > 0);
  return bits >>> 0;
}

/** How many bits differ between `words` words here and there. */
export function bitsApart(a: Uint32Array, aStart: number, b: Uint32Array): number {
  let apart = 0;
  for (let at = 0; at < b.length; at++) {
    let bits = a[aStart + at]! ^ b[at]!;
    bits -= (bits >>> 1) & 0x55555555;
    bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
    apart += Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return apart;
}
