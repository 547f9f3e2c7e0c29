import { blockFor, entriesOf, findInBlock } from './blocks.ts';
import type { BlockCache } from './block-cache.ts';
import type { Pace } from './pace.ts';
import { postingsIn, type Postings } from './postings.ts';
import type { Segment, View } from './view.ts';

const keysAtOnce = 64;

/** What is found under each of the keys, by segment. */
export async function lookUp(
  cache: BlockCache,
  { segments }: View,
  keys: readonly string[],
  pace: Pace,
): Promise<(Postings | null)[][]> {
  const found = keys.map((): (Postings | null)[] => []);
  // Some at a time: to search a block takes longer than to read it.
  for (let from = 0; from < keys.length; from += keysAtOnce) {
    await pace.breathe();
    const some = keys.slice(from, from + keysAtOnce);
    const bySegment = await Promise.all(segments.map((segment) => lookUpIn(cache, segment, some)));
    for (const at of some.keys()) found[from + at] = bySegment.map((own) => own[at]!);
  }
  return found;
}

/** The same in one segment. */
export async function lookUpIn(
  cache: BlockCache,
  { segment, fences }: Segment,
  keys: readonly string[],
): Promise<(Postings | null)[]> {
  const numbers = keys.map((key) => blockFor(fences, key));
  const wanted = [...new Set(numbers)].filter((number) => number >= 0);
  const blocks = await cache.blocks(segment, wanted);
  return keys.map((key, at) => {
    if (numbers[at]! < 0) return null;
    const value = findInBlock(blocks[wanted.indexOf(numbers[at]!)]!, key);
    return value === null ? null : postingsIn(value);
  });
}

const blocksAtOnce = 64;

/** The keys of a segment from `from` on and before `to`, with what is found under them. */
export async function* scan(
  cache: BlockCache,
  { segment, fences }: Segment,
  from: string,
  to: string,
): AsyncGenerator<{ key: string; postings: Postings }[]> {
  const last = blockFor(fences, to);
  for (let block = Math.max(0, blockFor(fences, from)); block <= last; block += blocksAtOnce) {
    const count = Math.min(blocksAtOnce, last - block + 1);
    const blocks = await cache.blocks(
      segment,
      Array.from({ length: count }, (_, at) => block + at),
    );
    for (const bytes of blocks) {
      const some: { key: string; postings: Postings }[] = [];
      for (const { key, value } of entriesOf(bytes))
        if (key >= from && key < to) some.push({ key, postings: postingsIn(value) });
      if (some.length > 0) yield some;
    }
  }
}
