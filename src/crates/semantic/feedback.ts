import type { Ranked } from '../index/ranking.ts';
import { countedIn, type Counted } from './counted.ts';
import { normalised } from './embedder.ts';

/** As many as RM3 takes by default in Anserini. The n-th counts 1 / n, since the first are right more often. */
export const feedbackDocuments = 10;
const feedbackWords = 20;
/** The share of the query itself among the words, as in RM3. */
const queryShare = 0.5;

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
 * The query with further words, taken from texts that are likely to be right (RM3, Abdul-Jaleel et al. 2004): the
 * most frequent ones, where rare ones count more.
 */
export function expanded(
  query: Counted,
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
  const weights = new Map(
    query.stems.map((stem, at) => [stem, (queryShare * query.counts[at]!) / query.length]),
  );
  const sum = words.reduce((total, { share }) => total + share, 0);
  for (const { stem, share } of words)
    weights.set(stem, (weights.get(stem) ?? 0) + ((1 - queryShare) * share) / sum);
  return weights;
}

/** The query moved towards documents that are likely to be right (Rocchio 1971), with equal weight for both. */
export function movedTowards(query: Float32Array, documents: readonly Weighed<Float32Array>[]): Float32Array {
  const sum = documents.reduce((total, { weight }) => total + weight, 0);
  const moved = Float64Array.from(query);
  for (const { item, weight } of documents)
    for (let at = 0; at < moved.length; at++) moved[at]! += (weight / sum) * item[at]!;
  return normalised(moved);
}
