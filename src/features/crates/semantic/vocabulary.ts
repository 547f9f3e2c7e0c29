import type { Sampled } from './sample.ts';

export interface Vocabulary {
  /** In order of their code units. */
  readonly stems: readonly string[];
  /** How many documents have each. */
  readonly frequencies: readonly number[];
}

const mostStems = 50_000;
/** From so many documents on, a word of a single one is left out: it is near to nothing. */
const largeCorpus = 2000;

/** The words that a model knows: those of most documents, where there are too many. */
export function vocabularyOf(documents: readonly Sampled[]): Vocabulary {
  const counts = new Map<string, number>();
  for (const { words } of documents)
    for (const stem of words.stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  const least = documents.length >= largeCorpus ? 2 : 1;
  const chosen = [...counts]
    .filter(([, frequency]) => frequency >= least)
    .toSorted((a, b) => b[1] - a[1] || inOrder(a[0], b[0]))
    .slice(0, mostStems)
    .toSorted((a, b) => inOrder(a[0], b[0]));
  return { stems: chosen.map(([stem]) => stem), frequencies: chosen.map(([, frequency]) => frequency) };
}

/** By code units, which no locale changes. */
const inOrder = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
