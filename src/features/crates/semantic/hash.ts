import { isStopWord } from '../text/stop-words.ts';
import { countWords } from './counting.ts';
import { normalizeVector } from './vectors.ts';

const dimensions = 512;
const seed = 0x5eed_c4a7;

/** Changes whenever the vectors do. */
export const hashVersion = 'hash-1';

/**
 * Each word adds or takes away one in a dimension that its hash names (Weinberger et al. 2009). No corpus is needed and
 * none is learned from: the same text has the same vector everywhere, and only the same words are near.
 */
export function embedByHash(text: string): Float32Array {
  const sums = new Float64Array(dimensions);
  for (const [stem, count] of countWords(text).counts) {
    if (isStopWord(stem)) continue;
    const hash = hashStem(stem);
    sums[hash % dimensions]! += (hash >= 0x80000000 ? 1 : -1) * (1 + computeLogarithm(count));
  }
  return normalizeVector(sums);
}

/** FNV-1a over the UTF-8 of the word, from a seed, and mixed (splitmix32), as its low bits alone are weak. */
function hashStem(stem: string): number {
  let hash = seed;
  for (const byte of Buffer.from(stem)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * The natural logarithm by +, −, × and ÷ alone. How exact `Math.log` is, is up to the engine; these give the same bits
 * on every machine.
 */
export function computeLogarithm(value: number): number {
  let mantissa = value;
  let doublings = 0;
  for (; mantissa >= 1.5; doublings++) mantissa /= 2;
  for (; mantissa < 0.75; doublings--) mantissa *= 2;
  // ln m = 2 artanh z. For m in [0.75, 1.5), z² is at most 0.04, and twelve terms leave nothing behind.
  const z = (mantissa - 1) / (mantissa + 1);
  let power = z;
  let sum = 0;
  for (let term = 0; term < 12; term++, power *= z * z) sum += power / (2 * term + 1);
  return 2 * sum + doublings * Math.LN2;
}
