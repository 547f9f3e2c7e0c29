import { generator } from './generator.ts';
import { logarithm } from './logarithm.ts';
import { saturated, type LsaModel } from './lsa.ts';
import { orthonormalise } from './orthonormal.ts';
import type { Sampled } from './sample.ts';
import { dense, times, transposedTimes, type Dense, type Sparse } from './sparse.ts';
import { vocabularyOf } from './vocabulary.ts';

const mostDimensions = 200;
/** Six rounds find nothing better on Cranfield. */
const rounds = 3;
const seed = 20_260_101;

/**
 * Latent semantic analysis: finds the few directions in which the documents, as weighted words, differ most. Words
 * that stand in the same company get places near each other. By randomised subspace iteration (Halko, Martinsson and
 * Tropp 2011); the axes within the space found do not matter, as only angles are looked at.
 *
 * The documents are ordered by key. `pause` is awaited every now and then, and may throw.
 */
export async function fitLsa(documents: readonly Sampled[], pause: () => Promise<void>): Promise<LsaModel> {
  const { stems, frequencies } = vocabularyOf(documents);
  const rarities = Float64Array.from(frequencies, (frequency) => rarityOf(frequency, documents.length));
  const averageLength = averageOf(documents.map(({ words }) => words.length));
  const dimensions = dimensionsFor(documents.length, stems.length);
  const matrix = weighted(documents, stems, rarities, averageLength);
  const found = await principal(matrix, dimensions, pause);
  return { dimensions, averageLength, stems, rarities, places: new Float32Array(found.values) };
}

/** About half of what there could be in a small corpus: with all of them, no two words would be near. */
function dimensionsFor(documents: number, stems: number): number {
  return Math.min(mostDimensions, documents, stems, Math.ceil(documents / 2) + 1);
}

const rarityOf = (frequency: number, documents: number): number =>
  logarithm(1 + (documents - frequency + 0.5) / (frequency + 0.5));

function averageOf(lengths: readonly number[]): number {
  const sum = lengths.reduce((total, length) => total + length, 0);
  return sum === 0 ? 1 : sum / lengths.length;
}

/** A row for each document, a column for each stem, weighted as BM25 does. */
function weighted(
  documents: readonly Sampled[],
  stems: readonly string[],
  rarities: Float64Array,
  averageLength: number,
): Sparse {
  const columnOf = new Map(stems.map((stem, column) => [stem, column]));
  const filled = documents.reduce((sum, { words }) => sum + words.stems.length, 0);
  const columns = new Uint32Array(filled);
  const values = new Float64Array(filled);
  const starts = new Uint32Array(documents.length + 1);
  let at = 0;
  for (const [row, { words }] of documents.entries()) {
    for (const [place, stem] of words.stems.entries()) {
      const column = columnOf.get(stem);
      if (column === undefined) continue;
      columns[at] = column;
      values[at++] = rarities[column]! * saturated(words.counts[place]!, words.length, averageLength);
    }
    starts[row + 1] = at;
  }
  return { rows: documents.length, width: stems.length, starts, columns, values };
}

async function principal(matrix: Sparse, dimensions: number, pause: () => Promise<void>): Promise<Dense> {
  let byDocument = signs(matrix.rows, dimensions);
  for (let round = 0; round < rounds; round++) {
    await pause();
    const byWord = transposedTimes(matrix, byDocument);
    await pause();
    byDocument = times(matrix, byWord);
    await pause();
    orthonormalise(byDocument);
  }
  const byWord = transposedTimes(matrix, byDocument);
  await pause();
  orthonormalise(byWord);
  return byWord;
}

/** The start of the search: +1 and −1, as if at random. */
function signs(rows: number, width: number): Dense {
  const next = generator(seed);
  const start = dense(rows, width);
  for (let at = 0; at < start.values.length; at++) start.values[at] = next() < 0x80000000 ? 1 : -1;
  return start;
}
