import { tokenizeWords } from '../text/words.ts';

/** The words of a text by their stems, in the order in which they first come. */
export interface CountedText {
  readonly counts: ReadonlyMap<string, number>;
  /** One of the words with each stem. */
  readonly forms: ReadonlyMap<string, string>;
  /** How many words were counted. */
  readonly length: number;
}

/** What a text says, it says by then: a list of a million file names must not take the place of everything else. */
const maxStems = 2000;
const maxWords = 20_000;
const maxCharacters = 200_000;

export function countWords(text: string): CountedText {
  const counts = new Map<string, number>();
  const forms = new Map<string, string>();
  let length = 0;
  for (const { stem, form } of tokenizeWords(text.slice(0, maxCharacters))) {
    const count = counts.get(stem);
    if (count === undefined && counts.size >= maxStems) continue;
    if (count === undefined) forms.set(stem, form);
    counts.set(stem, (count ?? 0) + 1);
    if (++length >= maxWords) break;
  }
  return { counts, forms, length };
}
