import type { Allowed, Ranked, WordRanking } from '../index/ranking.ts';
import { isStopWord } from '../text/stop-words.ts';
import type { ChosenSpace } from './chosen-space.ts';
import { movedTowards, queryShare, trusted, weighWords, type Weighed } from './feedback.ts';
import { fuseRankings, keepNear, weighMeaning, type Spread } from './fusion.ts';
import type { Loaded } from './loaded.ts';

export interface HybridSearch {
  /** Null where the meaning of the query is not known: then words alone decide. */
  readonly vector: Float32Array | null;
  readonly loaded: Loaded | null;
  readonly words: WordRanking;
  /** How many of each list are looked at. Always the same, or pages would not fit together. */
  readonly depth: number;
  readonly allowed: Allowed;
}

/**
 * Words and meaning together. The best by words are ranked again: by the words that the very best of them have in common
 * (pseudo-relevance feedback), and by how near they are to the query, moved towards those. What words did not find is
 * added where it is near.
 */
export async function hybrid(search: HybridSearch): Promise<Ranked[]> {
  const { vector, loaded, words, depth, allowed } = search;
  const byWords = await words.best(depth);
  if (vector === null) return byWords.length === 0 ? [] : rankAgain(search, byWords);
  const space = loaded!.space!;
  const byMeaning = await space.nearest(vector, depth, allowed);
  if (byWords.length === 0) return keepNear(byMeaning, spreadOf(loaded!));
  const byBoth = await space.nearest(await moveTowardsBest(space, vector, byWords), depth, allowed);
  const found = new Set([...byWords, ...keepNear(byBoth, spreadOf(loaded!))].map(({ document }) => document));
  return fuseRankings(
    { ranked: await rankAgain(search, byWords), weight: 1 },
    {
      ranked: byBoth.filter(({ document }) => found.has(document)),
      weight: weighMeaning(byWords, byMeaning),
    },
  );
}

async function moveTowardsBest(
  space: ChosenSpace,
  vector: Float32Array,
  ranked: readonly Ranked[],
): Promise<Float32Array> {
  const vectors = await loadExamples(trusted(ranked), (documents) => space.vectors(documents));
  return vectors.length === 0 ? vector : movedTowards(vector, vectors);
}

/** The same documents, with the score that the words of the best of them give added to their own. */
async function rankAgain({ loaded, words }: HybridSearch, byWords: Ranked[]): Promise<Ranked[]> {
  const rarity = (stem: string): number => (isStopWord(stem) ? 0 : (loaded?.embedder.rarity(stem) ?? 1));
  const texts = await loadExamples(trusted(byWords), (documents) => words.texts(documents));
  const weights = weighWords(texts, rarity);
  if (weights.size === 0) return byWords;
  const scores = await words.score(
    weights,
    byWords.map(({ document }) => document),
  );
  return byWords
    .map(({ document, score }) => ({
      document,
      score: (queryShare * score) / words.queryLength + (1 - queryShare) * (scores.get(document) ?? 0),
    }))
    .toSorted((a, b) => b.score - a.score);
}

const spreadOf = ({ space, embedder }: Loaded): Spread => ({
  dimensions: space!.dimensions,
  isSkewed: embedder.isSkewed,
});

/** By meaning alone, in two rounds: the query is moved towards what it finds first. */
export async function byMeaning(
  loaded: Loaded,
  vector: Float32Array,
  most: number,
  { allowed, hasWords }: { allowed: Allowed; hasWords: Allowed },
): Promise<Ranked[]> {
  const space: ChosenSpace = loaded.space!;
  const spread = spreadOf(loaded);
  const first = keepNear(await space.nearest(vector, most, allowed), spread, hasWords);
  if (first.length === 0) return [];
  const moved = await moveTowardsBest(space, vector, first);
  return keepNear(await space.nearest(moved, most, allowed), spread, hasWords);
}

/** What is known of the examples, with their weights. */
async function loadExamples<T>(
  examples: readonly Weighed<number>[],
  load: (documents: readonly number[]) => Promise<ReadonlyMap<number, T>>,
): Promise<Weighed<T>[]> {
  const known = await load(examples.map(({ item }) => item));
  return examples.flatMap(({ item, weight }) => {
    const value = known.get(item);
    return value === undefined ? [] : [{ item: value, weight }];
  });
}
