/** The search by words, by meaning, or by both: matches the clauses, filters, ranks, and makes a page of results. */
import type { Database } from '../../../ports/database/database.ts';
import { WorkcrateError, isWorkcrateError } from '../../../platform/errors.ts';
import { parseSearchQuery, type SearchQuery } from '../query/parse.ts';
import type { Meaning, Ranked, WordRanking } from './ranking.ts';
import { findDocumentsWith } from './entity-search.ts';
import {
  applyFilter,
  applyList,
  computeRarity,
  countHolders,
  findNothing,
  listNewest,
  matchClause,
  rankMatches,
  type Candidates,
  type Found,
  type Hit,
  type Searching,
  type WeighedMatches,
} from './matching.ts';
import {
  boundPaging,
  countFacets,
  countShownTexts,
  describeHits,
  maxOffset,
  readDocumentRows,
  type SearchResult,
  type ValueCount,
} from './results.ts';
import type { Viewing } from './rows.ts';
import { joinSemanticText } from './texts.ts';

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

/** What a search of crates works with. */
export interface CrateSearching extends Searching {
  readonly database: Database;
  readonly viewing: Viewing;
  /** Whether what has changed meanwhile is left out, and not an error. */
  readonly isLastAttempt: boolean;
  readonly meaning: Meaning | null;
}

/** A query with all that was found for it. */
interface PreparedQuery {
  readonly query: SearchQuery;
  readonly wanted: readonly WeighedMatches[];
  readonly required: readonly WeighedMatches[];
  readonly candidates: Candidates;
  readonly notes: Set<string>;
}

const maxFacetValues = 10;

export async function searchCrates(searching: CrateSearching, request: SearchRequest): Promise<SearchPage> {
  const { limit, offset } = boundPaging(request);
  const prepared = await prepareQuery(searching, parseSearchQuery(request.query, request.filters));
  const { mode, found } = await findByMode(searching, prepared, request.mode, offset + limit);
  const hits = found.best.slice(offset, offset + limit);
  const results = await describeHits(searching, prepared.query, hits);
  const end = offset + hits.length;
  await searching.pace.breathe();
  const facets = {
    ...(request.facets === false ? {} : countFacets(searching.visible, found.chosen, maxFacetValues)),
    ...(request.countsTexts === true ? await countShownTexts(searching, found.chosen, maxFacetValues) : {}),
  };
  const next = hits.length > 0 && end < Math.min(found.total, maxOffset) ? end : null;
  return { mode, total: found.total, results, facets, next, notes: [...prepared.notes] };
}

async function findByMode(
  searching: CrateSearching,
  prepared: PreparedQuery,
  mode: SearchMode,
  most: number,
): Promise<{ mode: SearchMode; found: Found }> {
  const { visible } = searching;
  if (prepared.query.isUnsearchable) return { mode: 'keyword', found: findNothing(visible) };
  const hasWords = prepared.wanted.length + prepared.required.length > 0;
  if (!hasWords) return { mode: 'keyword', found: listNewest(visible, prepared.candidates, most) };
  if (mode !== 'keyword') {
    const found = await findByMeaning(searching, prepared, mode, most);
    if (found !== null) return { mode, found };
    prepared.notes.add(
      'Search by meaning is off or not ready yet, so only the words themselves were searched for.',
    );
  }
  return { mode: 'keyword', found: await findByWords(searching, prepared, most) };
}

const findByWords = (
  searching: CrateSearching,
  { candidates, wanted, required }: PreparedQuery,
  most: number,
): Promise<Found> => rankMatches(searching, candidates, wanted, required, most);

async function prepareQuery(searching: CrateSearching, query: SearchQuery): Promise<PreparedQuery> {
  const { visible } = searching;
  const candidates = visible.marks.slice();
  for (const filter of query.filters) applyFilter(visible, candidates, filter);
  for (const clause of query.excluded)
    applyList(candidates, (await matchClause(searching, clause)).documents, true);
  const required: WeighedMatches[] = [];
  for (const clause of query.required) {
    const matches = await matchClause(searching, clause);
    applyList(candidates, matches.documents, false);
    required.push({ ...matches, times: 1 });
  }
  for (const condition of query.entities)
    applyList(candidates, await findDocumentsWith(searching, condition, candidates), condition.negated);
  const wanted: WeighedMatches[] = [];
  for (const clause of query.wanted)
    wanted.push({ ...(await matchClause(searching, clause)), times: clause.times });
  return { query, wanted, required, candidates, notes: new Set(query.notes) };
}

/** So many are ranked by meaning at most; nobody reads on beyond them. */
const maxRanked = 1000;

/** Null where words alone have to do, since there is no search by meaning. */
async function findByMeaning(
  searching: CrateSearching,
  prepared: PreparedQuery,
  mode: 'semantic' | 'hybrid',
  most: number,
): Promise<Found | null> {
  const { meaning } = searching;
  const { query, candidates } = prepared;
  try {
    if (meaning === null) throw semanticSearchOffError();
    const byWords = await findByWords(searching, prepared, most + maxRanked);
    const allowed = (document: number): boolean => candidates[document] === 1;
    if (mode === 'semantic') {
      const hasWords = (document: number): boolean => byWords.chosen[document] === 1;
      const ranked = await meaning.nearest(query.text, maxRanked, allowed, hasWords);
      return putFirst(byWords, ranked, mode);
    }
    const words: WordRanking = {
      length: query.wanted.reduce((sum, { times }) => sum + times, 0) + query.required.length,
      best: byWords.best,
      readTexts: (documents) => readTexts(searching, documents),
      async measureRarity(form) {
        await searching.pace.breathe();
        return computeRarity(searching.visible.count, countHolders(searching, form));
      },
    };
    return putFirst(byWords, await meaning.hybrid(query.text, words, allowed), mode);
  } catch (error) {
    if (mode === 'hybrid' && isWorkcrateError(error, 'unsupported')) return null;
    throw error;
  }
}

const semanticSearchOffError = (): WorkcrateError =>
  new WorkcrateError('unsupported', 'Search by meaning is off on this server. Use mode "keyword".');

async function readTexts(
  searching: CrateSearching,
  documents: readonly number[],
): Promise<Map<number, string>> {
  const rows = await readDocumentRows(searching, documents);
  return new Map(Array.from(rows, ([document, row]) => [document, joinSemanticText(row)]));
}

/** What was ranked by meaning; for hybrid then the rest of what was found by words, in its own order. */
function putFirst(byWords: Found, ranked: readonly Ranked[], mode: 'semantic' | 'hybrid'): Found {
  const first = new Set(ranked.map(({ document }) => document));
  const chosen = mode === 'hybrid' ? byWords.chosen.slice() : new Uint8Array(byWords.chosen.length);
  let total = mode === 'hybrid' ? byWords.total : 0;
  for (const document of first) {
    if (chosen[document] === 0) total++;
    chosen[document] = 1;
  }
  const rest = mode === 'hybrid' ? byWords.best.filter(({ document }) => !first.has(document)) : [];
  // They come later, so they score less.
  const scale = (ranked.at(-1)?.score ?? 1) / (rest[0]?.score ?? 1);
  const later = rest.map((hit): Hit => ({ ...hit, score: hit.score * scale }));
  return { total, chosen, best: [...ranked, ...later] };
}
