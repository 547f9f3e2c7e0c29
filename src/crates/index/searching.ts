import type { Database } from '../../database/database.ts';
import { parseSearchQuery, type SearchQuery } from '../query/parse.ts';
import { barByFilter, barClause, barDocuments, nothingBarred, type Barred } from './barring.ts';
import type { BlockCache } from './block-cache.ts';
import { listsOf } from './clause-lists.ts';
import { documentsWith } from './entity-search.ts';
import { countFacets, type ValueCount } from './facet-counts.ts';
import { searchByMeaning } from './meaning-search.ts';
import type { Pace } from './pace.ts';
import { boundPaging, mostOffset } from './paging.ts';
import type { Meaning } from './ranking.ts';
import { resultsOf, type SearchResult } from './results.ts';
import { match, newest, weigh, type Found, type Weighed } from './scoring.ts';
import type { Visible } from './visible.ts';

export type SearchMode = 'keyword' | 'semantic' | 'hybrid';

export interface SearchRequest {
  readonly query: string;
  readonly mode: SearchMode;
  /** Names of fields or facets, and what they have to hold. */
  readonly filters: readonly (readonly [string, string])[];
  /** At most 100. */
  readonly limit: number;
  readonly offset: number;
  /** Whether to count the values of facets; default true. */
  readonly facets?: boolean;
}

export interface SearchPage {
  /** How it was searched; not always as it was asked for, which the notes tell. */
  readonly mode: SearchMode;
  readonly total: number;
  readonly results: SearchResult[];
  readonly facets: Record<string, ValueCount[]>;
  /** The offset of the next page; null where there is none. */
  readonly next: number | null;
  readonly notes: string[];
}

/** What a search works with. */
export interface Searching {
  readonly database: Database;
  readonly cache: BlockCache;
  readonly visible: Visible;
  readonly meaning: Meaning | null;
  readonly pace: Pace;
}

/** A query with all that was read for it. */
export interface Prepared {
  readonly query: SearchQuery;
  readonly wanted: readonly Weighed[];
  readonly required: readonly Weighed[];
  readonly barred: Barred;
  readonly notes: Set<string>;
}

const mostValues = 10;

export async function search(searching: Searching, request: SearchRequest): Promise<SearchPage> {
  const { limit, offset } = boundPaging(request);
  const prepared = await prepare(searching, parseSearchQuery(request.query, request.filters));
  const { mode, found } = await findBy(searching, prepared, request.mode, offset + limit);
  const hits = found.best.slice(offset, offset + limit);
  const results = await resultsOf(searching, prepared, hits);
  const end = offset + results.length;
  const { visible, pace } = searching;
  const facets = request.facets === false ? {} : await countFacets(visible, found.chosen, mostValues, pace);
  const next = results.length > 0 && end < Math.min(found.total, mostOffset) ? end : null;
  return { mode, total: found.total, results, facets, next, notes: [...prepared.notes] };
}

async function findBy(
  searching: Searching,
  prepared: Prepared,
  mode: SearchMode,
  most: number,
): Promise<{ mode: SearchMode; found: Found }> {
  const hasWords = prepared.wanted.length + prepared.required.length > 0;
  if (mode !== 'keyword' && hasWords) {
    const found = await searchByMeaning(searching, prepared, mode, most);
    if (found?.total === 0 && mode === 'semantic' && seesPrivate(searching.visible))
      prepared.notes.add(privateNote);
    if (found !== null) return { mode, found };
    prepared.notes.add(
      'Search by meaning is off or not ready yet, so only the words themselves were searched for.',
    );
  }
  return { mode: 'keyword', found: await findWords(searching, prepared, most) };
}

const privateNote =
  'Search by meaning finds crates that only you can see by those words alone that other crates have too. To find them by their own words, use mode hybrid or keyword.';

/** Whether there are crates that this viewer sees and others do not. */
function seesPrivate({ segments }: Visible): boolean {
  return segments.some(({ of: { columns }, hidden }) => {
    const { codes, values } = columns.owners;
    if (values.every((owner) => owner === null)) return false;
    return codes.some((code, at) => values[code] !== null && hidden?.[at] !== 1);
  });
}

/** Without words, as in a query of punctuation only, all is shown that fits the filters. */
async function findWords(
  { visible, pace }: Searching,
  { wanted, required, barred }: Prepared,
  most: number,
): Promise<Found> {
  if (wanted.length + required.length === 0) return newest(visible, barred, most, pace);
  return match(visible, { wanted, required, barred }, most, pace);
}

async function prepare(searching: Searching, query: SearchQuery): Promise<Prepared> {
  const { visible, pace } = searching;
  const notes = new Set(query.notes);
  const { wanted, required, excluded } = query;
  const lists = await listsOf(searching, [...wanted, ...required, ...excluded], notes);
  const barred = nothingBarred(visible);
  for (const filter of query.filters) await barByFilter(visible, barred, filter, pace);
  for (const list of lists.slice(wanted.length + required.length)) barClause(visible, barred, list);
  for (const condition of query.entities)
    barDocuments(visible, barred, await documentsWith(searching, condition, barred), condition.negated);
  return {
    query,
    wanted: lists.slice(0, wanted.length).map((list, at) => weigh(visible, list, wanted[at]!.times)),
    required: lists.slice(wanted.length, wanted.length + required.length).map((list) => weigh(visible, list)),
    barred,
    notes,
  };
}
