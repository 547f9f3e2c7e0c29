import { countedIn, type Counted } from './counted.ts';
import { normalised, type Embedder } from './embedder.ts';

/** Where each known word stands in the space, and how much it counts. */
export interface LsaModel {
  readonly dimensions: number;
  /** How many words a document has on average. */
  readonly averageLength: number;
  readonly stems: readonly string[];
  /** How rare each stem is. */
  readonly rarities: Float64Array;
  /** One row for each stem. */
  readonly places: Float32Array;
}

/** As in the literature on BM25: how soon a repeated word adds little, and how much long documents are held back. */
const k1 = 1.2;
const b = 0.75;

/** How much a word counts in a document, before its rarity. */
export function saturated(count: number, length: number, averageLength: number): number {
  return (count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / averageLength));
}

/** Below this share of its length, what the space holds of a text is rounding. */
const leastShare = 1e-6;

/** Puts texts where their words are. Documents that the model was not fitted to are placed in the same way. */
export function lsaEmbedder(model: LsaModel): Embedder {
  const rows = new Map(model.stems.map((stem, row) => [stem, row]));
  const rarity = (stem: string): number => model.rarities[rows.get(stem) ?? -1] ?? 0;

  function placed({ stems, counts }: Counted, weigh: (count: number) => number): Float32Array {
    const sums = new Float64Array(model.dimensions);
    let squares = 0;
    for (const [at, stem] of stems.entries()) {
      const row = rows.get(stem);
      if (row === undefined) continue;
      const weight = weigh(counts[at]!) * model.rarities[row]!;
      squares += weight * weight;
      const start = row * model.dimensions;
      for (let i = 0; i < sums.length; i++) sums[i]! += weight * model.places[start + i]!;
    }
    return normalised(sums, leastShare * Math.sqrt(squares));
  }

  const document = (text: string): Float32Array => {
    const counted = countedIn(text);
    return placed(counted, (count) => saturated(count, counted.length, model.averageLength));
  };
  return {
    documents: async (texts) => texts.map(document),
    query: async (text) => placed(countedIn(text), (count) => count),
    rarity,
    isSkewed: false,
  };
}
