import { folded, wordsOf } from '../text/words.ts';
import type { Clause } from './query.ts';

/** Every word of a text on its own; one that ends in `*` stands for all that begin with it. */
export function wordClauses(text: string, field: number | null): Clause[] {
  const words = [...wordsOf(text)];
  return words.map((word, at) => {
    const prefix = folded(word.form);
    const isPrefix =
      text[word.end] === '*' &&
      prefix.length >= leastPrefix &&
      (words[at + 1]?.start ?? word.end) >= word.end;
    return isPrefix ? { kind: 'prefix', prefix, field } : { kind: 'word', stem: word.stem, field };
  });
}

/** Shorter, and half of all words would begin with it. */
const leastPrefix = 2;

/** All words of a text, one after the other; null where there is none. */
export function phraseClause(text: string, field: number | null): Clause | null {
  const stems = Array.from(wordsOf(text), ({ stem }) => stem).slice(0, mostInPhrase);
  if (stems.length === 0) return null;
  return stems.length === 1 ? { kind: 'word', stem: stems[0]!, field } : { kind: 'phrase', stems, field };
}

const mostInPhrase = 32;

const keyOf = (clause: Clause): string => JSON.stringify(clause);

/** Each once, in the order in which they came. */
export function withoutRepeats(clauses: readonly Clause[]): Clause[] {
  return [...new Map(clauses.map((clause) => [keyOf(clause), clause])).values()];
}
