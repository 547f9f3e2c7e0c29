import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { listsOf } from './clause-lists.ts';
import { documentNumber, locate } from './locating.ts';
import type { Allowed, Ranked, WordRanking } from './ranking.ts';
import { meaningText, rowsByDocument } from './result-rows.ts';
import { findFields, match, newest, weigh, type Found, type Hit } from './scoring.ts';
import type { Prepared, Searching } from './searching.ts';
import type { Visible } from './visible.ts';

/** So many are ranked by meaning at most; nobody reads on beyond them. */
const mostRanked = 1000;

/** Null where words alone have to do, since there is no search by meaning. */
export async function searchByMeaning(
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
      return putFirst(visible, clauses, ranked, null);
    }
    const ranked = await meaning.hybrid(query.text, wordRanking(searching, prepared, found), allowed);
    return putFirst(visible, clauses, ranked, found);
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

/** What was ranked by meaning, then the rest of what was found by words, in its own order. */
function putFirst(
  visible: Visible,
  clauses: Prepared['wanted'],
  ranked: readonly Ranked[],
  found: Found | null,
): Found {
  const chosen = visible.segments.map(({ of }, at) =>
    found === null ? new Uint8Array(of.columns.size) : found.chosen[at]!.slice(),
  );
  const first = new Map<string, Hit>();
  let total = found?.total ?? 0;
  for (const { document, score } of ranked) {
    const place = locate(visible, document);
    if (place === null || first.has(placeKey(place))) continue;
    first.set(placeKey(place), { ...place, score, fields: 0 });
    if (chosen[place.segment]![place.at] === 0) total++;
    chosen[place.segment]![place.at] = 1;
  }
  const hits = [...first.values()];
  const fields = findFields(visible, clauses, hits);
  const rest = (found?.best ?? [])
    .filter((hit) => !first.has(placeKey(hit)))
    .map((hit) => ({ ...hit, score: 0 }));
  return { total, chosen, best: [...hits.map((hit, at) => ({ ...hit, fields: fields[at]! })), ...rest] };
}

const placeKey = ({ segment, at }: Pick<Hit, 'segment' | 'at'>): string => `${segment} ${at}`;
