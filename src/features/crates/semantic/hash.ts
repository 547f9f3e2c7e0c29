import { countedIn } from './counted.ts';
import { isStopWord } from '../text/stop-words.ts';
import { normalised, type Embedder } from './embedder.ts';
import { mixed } from './generator.ts';
import { logarithm } from './logarithm.ts';

const dimensions = 512;
const seed = 0x5eed_c4a7;

/** Changes whenever the vectors do. */
export const hashVersion = 'hash-1';

/**
 * Each word adds or takes away one in a dimension that its hash names (Weinberger et al. 2009). No corpus is needed and
 * none is learned from: the same text has the same vector everywhere, and only the same words are near.
 */
export function hashEmbedder(): Embedder {
  return {
    documents: async (texts) => texts.map(hashText),
    query: async (text) => hashText(text),
    rarity: (stem) => (isStopWord(stem) ? 0 : 1),
    isSkewed: false,
  };
}

function hashText(text: string): Float32Array {
  const sums = new Float64Array(dimensions);
  const { stems, counts } = countedIn(text);
  for (const [at, stem] of stems.entries()) {
    if (isStopWord(stem)) continue;
    const hash = hashOf(stem);
    sums[hash % dimensions]! += (hash >= 0x80000000 ? 1 : -1) * (1 + logarithm(counts[at]!));
  }
  return normalised(sums);
}

/** FNV-1a over the UTF-8 of the word, from a seed, and mixed, as its low bits alone are weak. */
function hashOf(stem: string): number {
  let hash = seed;
  for (const byte of Buffer.from(stem)) hash = Math.imul(hash ^ byte, 0x01000193);
  return mixed(hash);
}
