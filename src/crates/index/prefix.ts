import type { QueryClause } from '../query/parse.ts';
import { textFields } from '../query/text-fields.ts';
import type { Reading } from './clause-lists.ts';
import { afterPrefix, formKey, wordKey } from './keys.ts';
import { scan } from './lookup.ts';
import type { Pace } from './pace.ts';
import { addCounts, onlyInField, WordPostingsWriter } from './postings-of-field.ts';
import { eachPosting, type Postings } from './postings.ts';
import type { VisibleSegment } from './visible.ts';

/** So many words may begin with a prefix; those that come later in the alphabet are left out. */
const mostWords = 1000;

/** The documents with words that begin with a prefix, in each segment, as if they were one word. */
export async function prefixLists(
  { cache, visible, pace }: Reading,
  { prefix, field }: Extract<QueryClause, { kind: 'prefix' }>,
  notes: Set<string>,
): Promise<(Postings | null)[]> {
  const found = visible.segments.map(() => new Map<string, Postings[]>());
  for (const [at, segment] of visible.segments.entries())
    for (const start of [formKey(prefix), wordKey(prefix)])
      for await (const entries of scan(cache, segment.of, start, afterPrefix(start))) {
        await pace.breathe();
        for (const { key, postings } of entries)
          if (isSeen(segment, postings)) addTo(found[at]!, key.slice(1), postings);
      }
  const words = [...new Set(found.flatMap((lists) => [...lists.keys()]))].sort();
  if (words.length > mostWords)
    notes.add(
      `More than ${mostWords} words begin with ${prefix}; only the first ${mostWords} were searched for.`,
    );
  const chosen = new Set(words.slice(0, mostWords));
  const joined: (Postings | null)[] = [];
  for (const [at, lists] of found.entries()) {
    const some = [...lists].filter(([word]) => chosen.has(word)).flatMap(([, postings]) => postings);
    joined.push(onlyInField(await union(some, visible.segments[at]!.of.columns.size, pace), field));
  }
  return joined;
}

function addTo(lists: Map<string, Postings[]>, word: string, postings: Postings): void {
  const known = lists.get(word);
  if (known === undefined) lists.set(word, [postings]);
  else known.push(postings);
}

/** A word that only hidden documents hold must not take the place of another. */
function isSeen({ hidden }: VisibleSegment, postings: Postings): boolean {
  if (hidden === null) return true;
  let seen = false;
  eachPosting(postings, true, (document) => (seen ||= hidden[document] === 0));
  return seen;
}

async function union(lists: readonly Postings[], size: number, pace: Pace): Promise<Postings | null> {
  if (lists.length <= 1) return lists[0] ?? null;
  const width = textFields.length;
  // Each document that is met gets the next place in the counts, from 1 on.
  const placeOf = new Uint32Array(size);
  let met = 0;
  const most = lists.reduce((sum, { count }) => sum + count, 0);
  const counts = new Uint32Array((Math.min(size, most) + 1) * width);
  for (const list of lists) {
    await pace.breathe();
    eachPosting(list, true, (document, at) => {
      placeOf[document] ||= ++met;
      addCounts(counts, list.bytes, at, placeOf[document]! * width);
    });
  }
  const writer = new WordPostingsWriter();
  for (let document = 0; document < size; document++) {
    const place = placeOf[document]!;
    if (place > 0) writer.add(document, counts.subarray(place * width, (place + 1) * width));
  }
  return writer.end();
}
