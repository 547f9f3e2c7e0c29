import type { Ranked } from '../index/ranking.ts';

/** As in Cormack, Clarke and Büttcher 2009. */
const k = 60;

/**
 * Makes one ranking of several: a document gets 1 / (60 + rank) from each list that it is in. Scores of different kinds
 * need not be made comparable for that. Of equals, the one that comes first in the first list stays first: numbers of
 * documents differ from machine to machine, and must not decide.
 */
export function fuseRankings(...lists: readonly (readonly Ranked[])[]): Ranked[] {
  const scores = new Map<number, number>();
  for (const list of lists)
    for (const [at, { document }] of list.entries())
      scores.set(document, (scores.get(document) ?? 0) + 1 / (k + at + 1));
  return [...scores].map(([document, score]) => ({ document, score })).toSorted((a, b) => b.score - a.score);
}
