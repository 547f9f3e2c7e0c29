/** The search by words, by meaning, or by both: reads the clauses, filters, ranks, and makes a page of results. */
import type { Database } from '../../../ports/database/database.ts';
import { WorkcrateError, isWorkcrateError } from '../../../platform/errors.ts';
import { parseSearchQuery, type SearchQuery } from '../query/parse.ts';
import type { BlockCache } from './blocks.ts';
import { listsOf } from './clauses.ts';
import { documentsWith } from './entity-search.ts';
import type { Pace } from './pace.ts';
import type { Allowed, Meaning, Ranked, WordRanking } from './ranking.ts';
import {
  boundPaging,
  countFacets,
  countShownTexts,
  meaningText,
  mostOffset,
  resultsOf,
  rowsByDocument,
  type SearchResult,
  type ValueCount,
} from './results.ts';
import {
  barByFilter,
  barClause,
  barDocuments,
  findFields,
  match,
  newest,
  barNothing,
  weigh,
  type Barred,
  type Found,
  type Hit,
  type Weighed,
} from './scoring.ts';
import { documentNumber, locate, type Visible } from './segments.ts';

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
  /** Whether to count authors and keywords too; default false. */
  readonly countsTexts?: boolean;
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
  const facets = {
    ...(request.facets === false ? {} : await countFacets(visible, found.chosen, mostValues, pace)),
    ...(request.countsTexts === true ? await countShownTexts(searching, found.chosen, mostValues) : {}),
  };
  const next = results.length > 0 && end < Math.min(found.total, mostOffset) ? end : null;
  return { mode, total: found.total, results, facets, next, notes: [...prepared.notes] };
}

async function findBy(
  searching: Searching,
  prepared: Prepared,
  mode: SearchMode,
  most: number,
): Promise<{ mode: SearchMode; found: Found }> {
  if (prepared.query.isUnsearchable) return { mode: 'keyword', found: findNothing(searching) };
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

const findNothing = ({ visible }: Searching): Found => ({
  total: 0,
  chosen: visible.segments.map(({ of }) => new Uint8Array(of.columns.size)),
  best: [],
});

/** Without words, all is shown that fits the filters. */
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
  const barred = barNothing(visible);
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

/** So many are ranked by meaning at most; nobody reads on beyond them. */
const mostRanked = 1000;

/** Null where words alone have to do, since there is no search by meaning. */
async function searchByMeaning(
  searching: Searching,
  prepared: Prepared,
  mode: 'semantic' | 'hybrid',
  most: number,
): Promise<Found | null> {
  const { visible, meaning, pace } = searching;
  const { query, wanted, required } = prepared;
  const clauses = [...wanted, ...required];
  try {
    if (meaning === null) throw semanticSearchOffError();
    const allowed = await allowedBy(searching, prepared);
    const found = await match(visible, prepared, most + mostRanked, pace);
    if (mode === 'semantic') {
      const hasWords = isIn(visible, found.chosen);
      const ranked = await meaning.nearest(query.text, mostRanked, allowed, hasWords);
      return putFirst(visible, clauses, ranked, found, mode);
    }
    const ranked = await meaning.hybrid(query.text, wordRanking(searching, prepared, found), allowed);
    return putFirst(visible, clauses, ranked, found, mode);
  } catch (error) {
    if (mode === 'hybrid' && isWorkcrateError(error, 'unsupported')) return null;
    throw error;
  }
}

const semanticSearchOffError = (): WorkcrateError =>
  new WorkcrateError('unsupported', 'Search by meaning is off on this server. Use mode "keyword".');

/** What the caller may see and fits all that is not a matter of rank. */
async function allowedBy({ visible, pace }: Searching, { required, barred }: Prepared): Promise<Allowed> {
  const { chosen } =
    required.length === 0
      ? await newest(visible, barred, 0, pace)
      : await match(visible, { wanted: [], required, barred }, 0, pace);
  return isIn(visible, chosen);
}

function isIn(visible: Visible, chosen: readonly Uint8Array[]): Allowed {
  return (document) => {
    const place = locate(visible, document);
    return place !== null && chosen[place.segment]![place.at] !== 0;
  };
}

/** The search by words, as the search by meaning uses it. */
function wordRanking(
  { database, cache, visible, pace }: Searching,
  { query }: Prepared,
  { best }: Found,
): WordRanking {
  const wantedLength = query.wanted.reduce((sum, { times }) => sum + times, 0);
  return {
    queryLength: wantedLength + query.required.length,
    best: async (most) =>
      best.slice(0, most).map((hit) => ({ document: documentNumber(visible, hit), score: hit.score })),
    async score(stems, documents) {
      const clauses = [...stems.keys()].map((stem) => ({ kind: 'word', stem, field: null }) as const);
      const lists = await listsOf({ cache, visible, pace }, clauses, new Set());
      const boosts = [...stems.values()];
      const wanted = lists.map((list, at) => weigh(visible, list, boosts[at]!));
      const barred = allBut(visible, documents);
      const hits = await match(visible, { wanted, required: [], barred }, documents.length, pace);
      return new Map(hits.best.map((hit) => [documentNumber(visible, hit), hit.score]));
    },
    async texts(documents) {
      const rows = await rowsByDocument(database, documents);
      return new Map(Array.from(rows, ([document, row]) => [document, meaningText(row)]));
    },
  };
}

function allBut(visible: Visible, documents: readonly number[]): Uint8Array[] {
  const barred = visible.segments.map(({ of }) => new Uint8Array(of.columns.size).fill(1));
  for (const document of documents) {
    const place = locate(visible, document);
    if (place !== null) barred[place.segment]![place.at] = 0;
  }
  return barred;
}

/** What was ranked by meaning; for hybrid then the rest of what was found by words, in its own order. */
function putFirst(
  visible: Visible,
  clauses: readonly Weighed[],
  ranked: readonly Ranked[],
  byWords: Found,
  mode: 'semantic' | 'hybrid',
): Found {
  const first = new Map<string, Hit>();
  for (const { document, score } of ranked) {
    const place = locate(visible, document);
    if (place !== null) first.set(placeKey(place), { ...place, score, fields: 0 });
  }
  const hits = addFields(visible, clauses, [...first.values()], byWords);
  const chosen = visible.segments.map(({ of }, at) =>
    mode === 'hybrid' ? byWords.chosen[at]!.slice() : new Uint8Array(of.columns.size),
  );
  let total = mode === 'hybrid' ? byWords.total : 0;
  for (const { segment, at } of hits) {
    if (chosen[segment]![at] === 0) total++;
    chosen[segment]![at] = 1;
  }
  const rest = mode === 'hybrid' ? byWords.best.filter((hit) => !first.has(placeKey(hit))) : [];
  // They come later, so they score less.
  const scale = (hits.at(-1)?.score ?? 1) / (rest[0]?.score ?? 1);
  return { total, chosen, best: [...hits, ...rest.map((hit) => ({ ...hit, score: hit.score * scale }))] };
}

/** The same hits with the fields that words were found in. Most are known from the search by words. */
function addFields(
  visible: Visible,
  clauses: readonly Weighed[],
  hits: readonly Hit[],
  byWords: Found,
): Hit[] {
  const known = new Map(byWords.best.map((hit) => [placeKey(hit), hit.fields]));
  const unknown = hits.filter(
    (hit) => byWords.chosen[hit.segment]![hit.at] !== 0 && !known.has(placeKey(hit)),
  );
  if (unknown.length > 0)
    for (const [at, fields] of findFields(visible, clauses, unknown).entries())
      known.set(placeKey(unknown[at]!), fields);
  return hits.map((hit) => ({ ...hit, fields: known.get(placeKey(hit)) ?? 0 }));
}

const placeKey = ({ segment, at }: Pick<Hit, 'segment' | 'at'>): string => `${segment} ${at}`;
