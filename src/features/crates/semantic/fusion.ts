import type { Allowed, Ranked } from '../index/ranking.ts';

/** In three collections, one in a hundred documents that do not fit a query is nearer to it, and half of those that do. */
const leastCosine = 0.3;
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
): Ranked[] {
  const least = Math.max(leastCosine, spread.isSkewed ? outlierScore(ranked) : chanceScore(spread));
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
