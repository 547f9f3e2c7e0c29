import { tokenizeWords } from '../text/words.ts';

/** The words of a text by their stems, in the order in which they first come. */
export interface Counted {
  readonly stems: readonly string[];
  readonly counts: readonly number[];
  /** How many words were counted. */
  readonly length: number;
}

/** What a text says, it says by then: a list of a million file names must not take the place of everything else. */
const mostStems = 2000;
const mostWords = 20_000;
const mostCharacters = 200_000;

export function countedIn(text: string): Counted {
  const counts = new Map<string, number>();
  let length = 0;
  for (const { stem } of tokenizeWords(text.slice(0, mostCharacters))) {
    const count = counts.get(stem);
    if (count === undefined && counts.size >= mostStems) continue;
    counts.set(stem, (count ?? 0) + 1);
    if (++length >= mostWords) break;
  }
  return { stems: [...counts.keys()], counts: [...counts.values()], length };
}
