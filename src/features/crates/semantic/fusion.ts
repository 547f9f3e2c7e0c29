/**
 * How rankings are improved and put together: by words and vectors of the first hits (pseudo-relevance feedback), by what
 * is near enough, and by how much words and meaning agree.
 */
import type { Allowed, Ranked } from '../index/ranking.ts';
import { isStopWord } from '../text/stop-words.ts';
import { countWords } from './counting.ts';
import { normalizeVector } from './vectors.ts';

/** As many as RM3 takes by default in Anserini. The n-th counts 1 / n, since the first are right more often. */
const feedbackDocuments = 10;
const feedbackWords = 40;
/** A text of a few words says little of what others like it are about. */
const addedLength = 100;
/** The share of the query itself in a score; the rest is that of the words of the best. */
export const queryShare = 0.7;

export interface Weighed<T> {
  readonly item: T;
  readonly weight: number;
}

/** The first documents, each with its weight. */
export function selectExamples(ranked: readonly Ranked[]): Weighed<number>[] {
  return ranked
    .slice(0, feedbackDocuments)
    .map(({ document }, at) => ({ item: document, weight: 1 / (at + 1) }));
}

/** A word of the first hits. */
export interface FeedbackWord {
  readonly stem: string;
  /** As it is written there. */
  readonly form: string;
  /** All of them add up to 1. */
  readonly share: number;
}

/**
 * Words for a query, taken from texts that are likely to be right: the most frequent ones that are no stop words (the
 * relevance model of RM3, Abdul-Jaleel et al. 2004).
 */
export function selectFeedbackWords(texts: readonly Weighed<string>[]): FeedbackWord[] {
  const shares = new Map<string, { form: string; share: number }>();
  for (const { item, weight } of texts) {
    const { counts, forms, length } = countWords(item);
    for (const [stem, count] of counts) {
      if (isStopWord(stem)) continue;
      const known = shares.get(stem) ?? { form: forms.get(stem)!, share: 0 };
      known.share += (weight * count) / (length + addedLength);
      shares.set(stem, known);
    }
  }
  const words = [...shares]
    .toSorted(([one, a], [other, b]) => b.share - a.share || (one < other ? -1 : 1))
    .slice(0, feedbackWords);
  const sum = words.reduce((total, [, { share }]) => total + share, 0);
  return words.map(([stem, { form, share }]) => ({ stem, form, share: share / sum }));
}

/** The query moved towards documents that are likely to be right (Rocchio 1971), with equal weight for both. */
export function moveVector(query: Float32Array, documents: readonly Weighed<Float32Array>[]): Float32Array {
  const sum = documents.reduce((total, { weight }) => total + weight, 0);
  const moved = Float64Array.from(query);
  for (const { item, weight } of documents)
    for (let at = 0; at < moved.length; at++) moved[at]! += (weight / sum) * item[at]!;
  return normalizeVector(moved);
}

/** In three collections, one in a hundred documents that do not fit a query is nearer to it, and half of those that do. */
const minCosine = 0.3;
/** To a query that was moved towards its first hits: what they merely have in common with others is not asked for. */
export const minMovedCosine = 0.5;
/** In units of the spread that chance gives: see `keepNear`. */
const chanceDeviations = 2;
/** Fewer say nothing about what is usual. */
const fewestToCompare = 20;

/** How the vectors of a provider are spread. */
export interface Spread {
  readonly dimensions: number;
  /** Whether all texts have something in common, so that even unrelated ones have a high cosine. */
  readonly isSkewed: boolean;
}

/**
 * Leaves only what is near, or has words of the query. The cosine of unrelated vectors spreads around 0 by about 1 / √dimensions, so in a space of
 * few dimensions, which a small corpus has, more is asked for. Where vectors are skewed, near is what stands out of the
 * cosines that were found.
 */
export function keepNear(
  ranked: readonly Ranked[],
  spread: Spread,
  hasWords: Allowed = () => false,
  min = minCosine,
): Ranked[] {
  const least = Math.max(min, spread.isSkewed ? outlierScore(ranked) : chanceScore(spread));
  return ranked.filter(({ document, score }) => score >= least || hasWords(document));
}

const chanceScore = ({ dimensions }: Spread): number => chanceDeviations / Math.sqrt(dimensions);

/** Two standard deviations above the mean, but at most the best; 0 where there are few. */
function outlierScore(ranked: readonly Ranked[]): number {
  if (ranked.length < fewestToCompare) return 0;
  const mean = ranked.reduce((sum, { score }) => sum + score, 0) / ranked.length;
  const variance = ranked.reduce((sum, { score }) => sum + (score - mean) ** 2, 0) / ranked.length;
  return Math.min(mean + 2 * Math.sqrt(variance), ranked[0]!.score);
}

const compared = 10;

/**
 * How much meaning may say against words for this query, from a tenth to a half: the more, the more of the ten best by
 * words are among the ten best by meaning. Where the two see different things, words are right more often.
 */
export function weighMeaning(byWords: readonly Ranked[], byMeaning: readonly Ranked[]): number {
  const near = new Set(byMeaning.slice(0, compared).map(({ document }) => document));
  const first = byWords.slice(0, compared);
  const agreed = first.filter(({ document }) => near.has(document)).length;
  return 0.1 + (first.length === 0 ? 0 : (0.4 * agreed) / first.length);
}

/** A ranking and how much it counts. */
export interface WeighedRanking {
  readonly ranked: readonly Ranked[];
  readonly weight: number;
}

/**
 * Makes one ranking of several by their scores, each relative to the best of its list. Of equals, the one that comes
 * first in the first list stays first: numbers of documents differ from machine to machine, and must not decide.
 */
export function fuseRankings(...lists: readonly WeighedRanking[]): Ranked[] {
  const scores = new Map<number, number>();
  for (const { ranked, weight } of lists) {
    const best = ranked[0]?.score ?? 1;
    for (const { document, score } of ranked)
      scores.set(document, (scores.get(document) ?? 0) + (weight * score) / best);
  }
  return [...scores].map(([document, score]) => ({ document, score })).toSorted((a, b) => b.score - a.score);
}
