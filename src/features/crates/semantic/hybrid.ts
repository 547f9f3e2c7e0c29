/** The search by words and meaning together, and by meaning alone. Which documents have words is decided in `index/`. */
import type { Allowed, Ranked, WordRanking } from '../index/ranking.ts';
import { countWords } from './counting.ts';
import {
  fuseRankings,
  keepNear,
  minMovedCosine,
  moveVector,
  queryShare,
  selectExamples,
  selectFeedbackWords,
  weighMeaning,
  type Spread,
  type Weighed,
} from './fusion.ts';
import type { VectorSpace } from './vectors.ts';

export interface HybridSearch {
  /** Null where the meaning of the query is not known: then words alone decide. */
  readonly vector: Float32Array | null;
  readonly space: VectorSpace | null;
  readonly words: WordRanking;
  readonly allowed: Allowed;
  /** Whether all vectors have something in common, as with most models of language. */
  readonly isSkewed: boolean;
}

/** How many of each list are looked at. Always the same, or pages would not fit together. */
const rankingDepth = 500;
/** So many of the best by words are ranked again by the words of the very best. */
const rerankedDepth = 100;

/**
 * Words and meaning together. The best by words are ranked again: by the words that the very best of them have in common
 * (pseudo-relevance feedback), and by how near they are to the query, moved towards those. What words did not find is
 * added where it is near.
 */
export async function rankByBoth(search: HybridSearch): Promise<Ranked[]> {
  const { vector, space, words, allowed, isSkewed } = search;
  const byWords = words.best.slice(0, rankingDepth);
  if (vector === null || space === null) return byWords.length === 0 ? [] : rerankByFeedback(search);
  const spread: Spread = { dimensions: space.dimensions, isSkewed };
  const byMeaning = space.findNearest(vector, rankingDepth, allowed);
  if (byWords.length === 0) return keepNear(byMeaning, spread);
  const moved = moveTowardsBest(space, vector, byWords);
  const byBoth = space.findNearest(moved, rankingDepth, allowed);
  // Near to the query itself: what is near to the first hits alone may have no more than its author in common with them.
  const found = new Set([...byWords, ...keepNear(byMeaning, spread)].map(({ document }) => document));
  return fuseRankings(
    { ranked: await rerankByFeedback(search), weight: 1 },
    {
      ranked: byBoth.filter(({ document }) => found.has(document)),
      weight: weighMeaning(byWords, byMeaning),
    },
  );
}

function moveTowardsBest(space: VectorSpace, vector: Float32Array, ranked: readonly Ranked[]): Float32Array {
  const examples = selectExamples(ranked);
  const vectors = pickKnown(examples, space.read(examples.map(({ item }) => item)));
  return vectors.length === 0 ? vector : moveVector(vector, vectors);
}

/** The same documents, with the score that the words of the best of them give added to their own. */
async function rerankByFeedback({ words }: HybridSearch): Promise<Ranked[]> {
  const byWords = words.best.slice(0, rankingDepth);
  const reranked = byWords.slice(0, rerankedDepth);
  const texts = await words.readTexts(reranked.map(({ document }) => document));
  const feedback = selectFeedbackWords(pickKnown(selectExamples(byWords), texts));
  const rarities = new Map<string, number>();
  for (const { stem, form } of feedback) rarities.set(stem, await words.measureRarity(form));
  const counted = new Map(Array.from(texts, ([document, text]) => [document, countWords(text)]));
  const average = counted.values().reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.size);
  return byWords
    .map(({ document, score }) => {
      const { counts, length } = counted.get(document) ?? { counts: new Map<string, number>(), length: 0 };
      let added = 0;
      for (const { stem, share } of feedback)
        added += share * rarities.get(stem)! * saturate(counts.get(stem) ?? 0, length / average);
      return { document, score: (queryShare * score) / words.length + (1 - queryShare) * added };
    })
    .toSorted((a, b) => b.score - a.score);
}

/** What repetitions of a word are worth in a text: that of BM25, where length matters less, since some are titles alone. */
const saturate = (count: number, relativeLength: number): number =>
  (count * 2.2) / (count + 1.2 * (0.75 + 0.25 * relativeLength));

/** By meaning alone, in two rounds: the query is moved towards what it finds first. */
export function rankByMeaning(
  { vector, space, allowed, isSkewed }: Omit<HybridSearch, 'words'>,
  most: number,
  hasWords: Allowed,
): Ranked[] {
  if (vector === null || space === null) return [];
  const few = Math.min(most, rankingDepth);
  const spread = { dimensions: space.dimensions, isSkewed };
  const first = keepNear(space.findNearest(vector, few, allowed), spread, hasWords);
  if (first.length === 0) return [];
  const moved = moveTowardsBest(space, vector, first);
  return keepNear(space.findNearest(moved, few, allowed), spread, hasWords, minMovedCosine);
}

/** What is known of the examples, with their weights. */
const pickKnown = <T>(examples: readonly Weighed<number>[], known: ReadonlyMap<number, T>): Weighed<T>[] =>
  examples.flatMap(({ item, weight }) => {
    const value = known.get(item);
    return value === undefined ? [] : [{ item: value, weight }];
  });
