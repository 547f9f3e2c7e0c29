import type { QueryClause } from '../query/parse.ts';
import type { BlockCache } from './block-cache.ts';
import { positionsKey, wordKey } from './keys.ts';
import { lookUp } from './lookup.ts';
import type { Pace } from './pace.ts';
import { phraseIn } from './phrase.ts';
import { onlyInField } from './postings-of-field.ts';
import type { Postings } from './postings.ts';
import { prefixLists } from './prefix.ts';
import type { ClauseLists } from './scoring.ts';
import type { Visible } from './visible.ts';

/** What clauses are read with. */
export interface Reading {
  readonly cache: BlockCache;
  readonly visible: Visible;
  readonly pace: Pace;
}

/** Reads what is needed for all clauses at once. */
export async function listsOf(
  { cache, visible, pace }: Reading,
  clauses: readonly QueryClause[],
  notes: Set<string>,
): Promise<ClauseLists[]> {
  const keys = new Map<string, number>();
  for (const key of clauses.flatMap(keysOf)) if (!keys.has(key)) keys.set(key, keys.size);
  const found = await lookUp(cache, visible.view, [...keys.keys()], pace);
  const at = (key: string): (Postings | null)[] => found[keys.get(key)!]!;
  const lists: ClauseLists[] = [];
  for (const clause of clauses) {
    await pace.breathe();
    if (clause.kind === 'word')
      lists.push(at(wordKey(clause.stem)).map((list) => onlyInField(list, clause.field)));
    else if (clause.kind === 'prefix') lists.push(await prefixLists({ cache, visible, pace }, clause, notes));
    else {
      const positions = clause.stems.map((stem) => at(positionsKey(stem)));
      const own: (Postings | null)[] = [];
      for (const index of visible.segments.keys()) {
        const here = positions.map((each) => each[index]!);
        own.push(await phraseIn(here, clause.field, pace));
      }
      lists.push(own);
    }
  }
  return lists;
}

function keysOf(clause: QueryClause): string[] {
  if (clause.kind === 'word') return [wordKey(clause.stem)];
  return clause.kind === 'phrase' ? clause.stems.map(positionsKey) : [];
}
