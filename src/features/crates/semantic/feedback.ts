import type { Ranked } from '../index/ranking.ts';
import { countedIn } from './counted.ts';
import { normalised } from './embedder.ts';

/** As many as RM3 takes by default in Anserini. The n-th counts 1 / n, since the first are right more often. */
const feedbackDocuments = 10;
const feedbackWords = 40;
/** The share of the query itself in a score; the rest is that of the words of the best. */
export const queryShare = 0.7;

export interface Weighed<T> {
  readonly item: T;
  readonly weight: number;
}

/** The first documents, each with its weight. */
export function trusted(ranked: readonly Ranked[]): Weighed<number>[] {
  return ranked
    .slice(0, feedbackDocuments)
    .map(({ document }, at) => ({ item: document, weight: 1 / (at + 1) }));
}

/**
 * Words for a query, taken from texts that are likely to be right, with weights that add up to 1: the most frequent ones,
 * where rare ones count more (the relevance model of RM3, Abdul-Jaleel et al. 2004).
 */
export function weighWords(
  texts: readonly Weighed<string>[],
  rarity: (stem: string) => number,
): Map<string, number> {
  const shares = new Map<string, number>();
  for (const { item, weight } of texts) {
    const { stems, counts, length } = countedIn(item);
    for (const [at, stem] of stems.entries())
      shares.set(stem, (shares.get(stem) ?? 0) + (weight * counts[at]!) / length);
  }
  const words = [...shares]
    .map(([stem, share]) => ({ stem, share, value: share * rarity(stem) }))
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value || (a.stem < b.stem ? -1 : 1))
    .slice(0, feedbackWords);
  const sum = words.reduce((total, { share }) => total + share, 0);
  return new Map(words.map(({ stem, share }) => [stem, share / sum]));
}

/** The query moved towards documents that are likely to be right (Rocchio 1971), with equal weight for both. */
export function movedTowards(query: Float32Array, documents: readonly Weighed<Float32Array>[]): Float32Array {
  const sum = documents.reduce((total, { weight }) => total + weight, 0);
  const moved = Float64Array.from(query);
  for (const { item, weight } of documents)
    for (let at = 0; at < moved.length; at++) moved[at]! += (weight / sum) * item[at]!;
  return normalised(moved);
}
