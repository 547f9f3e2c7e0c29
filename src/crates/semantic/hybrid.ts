import type { Allowed, Ranked, WordRanking } from '../index/ranking.ts';
import type { ChosenSpace } from './chosen-space.ts';
import { isCommon } from './common-words.ts';
import { countedIn } from './counted.ts';
import { expanded, feedbackDocuments, movedTowards, trusted, type Weighed } from './feedback.ts';
import { fuseRankings } from './fusion.ts';
import type { Loaded } from './loaded.ts';

export interface HybridSearch {
  readonly query: string;
  /** Null where the meaning of the query is not known: then words alone decide. */
  readonly vector: Float32Array | null;
  readonly loaded: Loaded | null;
  readonly words: WordRanking;
  /** How long each of the lists is that are put together. Always the same, or pages would not fit together. */
  readonly depth: number;
  readonly allowed: Allowed;
}

/**
 * Words and meaning together, in two rounds: the best of both by a first look are taken as examples, by which the words
 * and the vector of the query are made richer for a second. Examples are only what the caller may see.
 */
export async function hybrid(search: HybridSearch, most: number): Promise<Ranked[]> {
  const { query, vector, loaded, words, depth, allowed } = search;
  const counted = countedIn(query);
  if (counted.length === 0) return [];
  const stems = new Map(counted.stems.map((stem, at) => [stem, counted.counts[at]!]));
  const byWords = await words.rank(stems, depth, allowed);
  const byMeaning = vector === null ? [] : await loaded!.space!.nearest(vector, depth, allowed);

  const examples = trusted(fuseRankings(byWords, byMeaning));
  const rarity = loaded?.embedder.rarity ?? ((stem: string) => (isCommon(stem) ? 0 : 1));
  const texts = await found(examples, (documents) => words.texts(documents));
  const byMoreWords = await words.rank(expanded(counted, texts, rarity), depth, allowed);
  if (vector === null) return fuseRankings(byWords, byMoreWords).slice(0, most);

  const space = loaded!.space!;
  const vectors = await found(examples, (documents) => space.vectors(documents));
  const byMoved = await space.nearest(movedTowards(vector, vectors), depth, allowed);
  return fuseRankings(byWords, byMoreWords, byMoved).slice(0, most);
}

/** By meaning alone, in two rounds as well: the query is moved towards what it finds first. */
export async function byMeaning(
  space: ChosenSpace,
  vector: Float32Array,
  most: number,
  allowed: Allowed,
): Promise<Ranked[]> {
  const examples = trusted(await space.nearest(vector, feedbackDocuments, allowed));
  const vectors = await found(examples, (documents) => space.vectors(documents));
  return space.nearest(movedTowards(vector, vectors), most, allowed);
}

/** What is known of the examples, with their weights. */
async function found<T>(
  examples: readonly Weighed<number>[],
  load: (documents: readonly number[]) => Promise<ReadonlyMap<number, T>>,
): Promise<Weighed<T>[]> {
  const known = await load(examples.map(({ item }) => item));
  return examples.flatMap(({ item, weight }) => {
    const value = known.get(item);
    return value === undefined ? [] : [{ item: value, weight }];
  });
}
