import type { Allowed, Ranked, WordRanking } from '../index/ranking.ts';
import { countedIn } from './counted.ts';
import type { SemanticDocument } from './document.ts';
import { generator } from './generator.ts';

export const everything: Allowed = () => true;
/** No document has words of the query: what is found is near. */
export const noWords: Allowed = () => false;

/** Texts as documents, numbered from 1. */
export function documentsOf(texts: readonly string[]): SemanticDocument[] {
  return texts.map((text, at) => ({
    document: at + 1,
    crateId: `crate_${at + 1}`,
    isPrivate: false,
    text,
  }));
}

/** What `refit` takes. */
export const reading = (documents: readonly SemanticDocument[]) =>
  async function* (): AsyncGenerator<SemanticDocument> {
    yield* documents;
  };

/** A search by words of the plainest kind: BM25 over the whole text, all in memory. */
export function plainWords(
  documents: readonly SemanticDocument[],
  query: string,
  allowed: Allowed = everything,
): WordRanking {
  const [k1, b] = [1.2, 0.75];
  const counted = documents.map(({ text }) => countedIn(text));
  const average = counted.reduce((sum, { length }) => sum + length, 0) / counted.length;
  const postings = new Map<string, [number, number][]>();
  for (const [at, { stems, counts, length }] of counted.entries())
    for (const [i, stem] of stems.entries()) {
      const weight = (counts[i]! * (k1 + 1)) / (counts[i]! + k1 * (1 - b + (b * length) / average));
      if (postings.get(stem)?.push([at, weight]) === undefined) postings.set(stem, [[at, weight]]);
    }
  const rarity = (held: number): number => Math.log(1 + (documents.length - held + 0.5) / (held + 0.5));

  function rank(stems: Iterable<readonly [string, number]>): Ranked[] {
    const scores = new Map<number, number>();
    for (const [stem, asked] of stems) {
      const held = postings.get(stem) ?? [];
      for (const [at, weight] of held)
        scores.set(at, (scores.get(at) ?? 0) + asked * weight * rarity(held.length));
    }
    return [...scores]
      .map(([at, score]) => ({ document: documents[at]!.document, score }))
      .filter(({ document }) => allowed(document))
      .toSorted((x, y) => y.score - x.score || x.document - y.document);
  }

  const asked = countedIn(query);
  return {
    queryLength: asked.length,
    best: async (most) =>
      rank(asked.stems.map((stem, at) => [stem, asked.counts[at]!] as const)).slice(0, most),
    async score(stems, numbers) {
      const wanted = new Set(numbers);
      return new Map(
        rank(stems)
          .filter(({ document }) => wanted.has(document))
          .map(({ document, score }) => [document, score]),
      );
    },
    async texts(numbers) {
      const wanted = new Set(numbers);
      return new Map(
        documents
          .filter(({ document }) => wanted.has(document))
          .map(({ document, text }) => [document, text]),
      );
    },
  };
}

const subjects = [
  ['granite', 'basalt', 'mineral', 'lava', 'crystal', 'quartz', 'magma', 'sediment'],
  ['heron', 'feather', 'nest', 'wing', 'migration', 'egg', 'beak', 'song'],
  ['enzyme', 'protein', 'gene', 'cell', 'membrane', 'nucleus', 'folding', 'binding'],
  ['galaxy', 'star', 'telescope', 'orbit', 'planet', 'nebula', 'redshift', 'comet'],
] as const;

/** Texts about one of four subjects each, no two the same, always alike. */
export function madeUpTexts(count: number): string[] {
  const next = generator(42);
  return Array.from({ length: count }, (_, at) => {
    const words = subjects[at % subjects.length]!;
    const some = Array.from({ length: 8 }, () => words[next() % words.length]);
    return `A study of ${some.join(' ')}, number ${at}`;
  });
}

/** A hundred texts, half of them about roads, which call the same thing a car or an automobile, never both. */
export function twoNamesForOne(): {
  texts: string[];
  asked: string;
  isAbout(at: number): boolean;
} {
  const next = generator(3);
  const names = ['protein', 'car', 'protein', 'automobil'];
  const texts = Array.from({ length: 100 }, (_, at) => {
    const subject = at % 2 === 1 ? 'road' : 'cell';
    const some = Array.from({ length: 30 }, () => `${subject}${next() % 40}`);
    return `${names[at % 4]} ${some.join(' ')}`;
  });
  return { texts, asked: 'car', isAbout: (at) => at % 2 === 1 };
}
