/** How fields and words count, as chosen by cross-validation (`bench/tool-search.ts`, decision 058). */
import type { FieldName } from './fields.ts';

export interface FieldTerms {
  readonly weight: number;
  /** How much a long field is held back: 0 not at all, 1 in full (b of BM25). */
  readonly lengthShare: number;
  /** More repetitions of a word in the field say no more. */
  readonly mostRepetitions: number;
}

export interface Ranking {
  readonly fields: Readonly<Record<FieldName, FieldTerms>>;
  /** How soon one more mention of a word adds little (k1 of BM25). */
  readonly saturation: number;
  /** How much a word counts that is another spelling of the one that was asked for. */
  readonly sameWord: number;
  /** How much a word counts that often means the same. */
  readonly relatedWord: number;
  /** How much a word counts that has the same beginning, or is one letter off, where the one asked for is unknown. */
  readonly similarWord: number;
  /** How much the kind of something counts that is only shown: a path is a file. */
  readonly kind: number;
  /** How much it counts that a question is answered by tools that read. */
  readonly reading: number;
  /** How much it counts that the other tools of its server are about what was asked for. */
  readonly server: number;
}

export const usualRanking: Ranking = {
  fields: {
    name: { weight: 3, lengthShare: 0.5, mostRepetitions: 1 },
    title: { weight: 1, lengthShare: 0.5, mostRepetitions: 1 },
    description: { weight: 1, lengthShare: 0.6, mostRepetitions: 3 },
    arguments: { weight: 0.5, lengthShare: 0.6, mostRepetitions: 1 },
    argumentTexts: { weight: 0.3, lengthShare: 0.6, mostRepetitions: 2 },
    server: { weight: 1.5, lengthShare: 0, mostRepetitions: 1 },
  },
  saturation: 1.2,
  sameWord: 0.9,
  relatedWord: 0.65,
  similarWord: 0.6,
  kind: 0.8,
  reading: 0.4,
  server: 0.55,
};
