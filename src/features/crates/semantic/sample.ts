import { createHash } from 'node:crypto';
import { countedIn, type Counted } from './counted.ts';
import { keyOf, type SemanticDocument } from './document.ts';

export interface SampleLimits {
  readonly documents: number;
  /** Words in all, each counted once in each document: this bounds memory and time. */
  readonly words: number;
}

export const sampleLimits: SampleLimits = { documents: 20_000, words: 4_000_000 };

export interface Sampled {
  /** In hex. */
  readonly key: string;
  readonly words: Counted;
}

/** The documents that a model is fitted to, ordered by key, and the key of the first that found no room. */
export interface Sample {
  readonly documents: readonly Sampled[];
  readonly next: string | null;
}

/**
 * Of the documents that everybody may see those with the smallest keys, as many as there is room for. That is as good as at random, but depends on
 * nothing else than what the documents are: not on their order, nor on what was there before.
 */
export async function sampleOf(
  documents: AsyncIterable<SemanticDocument>,
  limits: SampleLimits,
  pause: () => Promise<void>,
): Promise<Sample> {
  let sample: Sample = { documents: [], next: null };
  let more: Sampled[] = [];
  let words = 0;
  for await (const document of documents) {
    if (document.isPrivate) continue;
    const key = keyOf(document).toString('hex');
    if (sample.next !== null && key >= sample.next) continue;
    const counted = countedIn(document.text);
    more.push({ key, words: counted });
    words += counted.stems.length;
    if (more.length < limits.documents / 4 && words < limits.words / 4) continue;
    sample = cut([...sample.documents, ...more], sample.next, limits);
    more = [];
    words = 0;
    await pause();
  }
  return cut([...sample.documents, ...more], sample.next, limits);
}

/** What once found no room never does: there are only more documents before it since. */
function cut(documents: Sampled[], next: string | null, limits: SampleLimits): Sample {
  const ordered = documents.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  let words = 0;
  const kept = ordered.findIndex(
    (document, at) => at >= limits.documents || (words += document.words.stems.length) > limits.words,
  );
  if (kept === -1) return { documents: ordered, next };
  return { documents: ordered.slice(0, kept), next: ordered[kept]!.key };
}

/** Equal where the sample is and the way of fitting: change the number with it. */
export function versionOf(keys: readonly string[]): string {
  return `lsa-1-${createHash('sha256').update(keys.join('\n')).digest('hex').slice(0, 24)}`;
}
