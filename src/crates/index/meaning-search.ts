import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Hit } from './best.ts';
import { listsOf } from './clause-lists.ts';
import { documentNumber, locate } from './locating.ts';
import { clearRoom, giveBack, match, newest, rankAny, type Found } from './matching.ts';
import type { Pace } from './pace.ts';
import type { Allowed, Ranked, WordRanking } from './ranking.ts';
import { meaningText, rowsByDocument } from './result-rows.ts';
import { addScores, weigh, type Weighed } from './scoring.ts';
import type { Prepared, Searching } from './searching.ts';
import type { Visible } from './visible.ts';

/** Nobody reads on beyond these, and what is found by meaning has no other end. */
const mostRanked = 1000;

/** Null where words alone have to do, since there is no search by meaning. */
export async function searchByMeaning(
  searching: Searching,
  prepared: Prepared,
  mode: 'semantic' | 'hybrid',
): Promise<Found | null> {
  const { visible, meaning, pace } = searching;
  const allowed = await allowedBy(visible, prepared, pace);
  const { text } = prepared.query;
  try {
    if (meaning === null) throw isOff();
    const ranked =
      mode === 'semantic'
        ? await meaning.nearest(text, mostRanked, allowed)
        : await meaning.hybrid(text, wordRanking(searching), mostRanked, allowed);
    return await foundBy(visible, prepared, ranked, pace);
  } catch (error) {
    if (mode === 'hybrid' && isWorkcrateError(error, 'unsupported')) return null;
    throw error;
  }
}

const isOff = (): WorkcrateError =>
  new WorkcrateError('unsupported', 'Search by meaning is off on this server. Use mode "keyword".');

async function allowedBy(visible: Visible, { required, barred }: Prepared, pace: Pace): Promise<Allowed> {
  const { chosen } =
    required.length === 0
      ? await newest(visible, barred, 0, pace)
      : await match(visible, { wanted: [], required, barred }, 0, pace);
  return (document) => {
    const place = locate(visible, document);
    return place !== null && chosen[place.segment]![place.at] !== 0;
  };
}

/** The search by words, as the search by meaning uses it. */
function wordRanking({ database, cache, visible, pace }: Searching): WordRanking {
  return {
    async rank(stems, most, allowed) {
      const clauses = [...stems.keys()].map((stem) => ({ kind: 'word', stem, field: null }) as const);
      const lists = await listsOf({ cache, visible, pace }, clauses, new Set());
      const boosts = [...stems.values()];
      const words = lists.map((list, at) => weigh(visible, list, boosts[at]!));
      const isAllowed = (segment: number, at: number): boolean =>
        allowed(documentNumber(visible, { segment, at }));
      const hits = await rankAny(visible, words, most, isAllowed, pace);
      return hits.map((hit) => ({ document: documentNumber(visible, hit), score: hit.score }));
    },
    async texts(documents) {
      const rows = await rowsByDocument(database, documents);
      return new Map(Array.from(rows, ([document, row]) => [document, meaningText(row)]));
    },
  };
}

async function foundBy(
  visible: Visible,
  { wanted, required }: Prepared,
  ranked: readonly Ranked[],
  pace: Pace,
): Promise<Found> {
  const chosen = visible.segments.map(({ of }) => new Uint8Array(of.columns.size));
  const best: Hit[] = [];
  for (const { document, score } of ranked) {
    const place = locate(visible, document);
    if (place === null || chosen[place.segment]![place.at] === 1) continue;
    chosen[place.segment]![place.at] = 1;
    best.push({ ...place, tier: 0, score, fields: 0 });
  }
  const words = [...required, ...wanted];
  return { total: best.length, chosen, best: await withFields(visible, words, chosen, best, pace) };
}

/** The same with the fields that the words were found in. */
async function withFields(
  visible: Visible,
  words: readonly Weighed[],
  chosen: readonly Uint8Array[],
  hits: readonly Hit[],
  pace: Pace,
): Promise<Hit[]> {
  const fields: Uint8Array[] = [];
  for (const [index, segment] of visible.segments.entries()) {
    const { size } = segment.of.columns;
    const room = clearRoom(size);
    for (const { lists } of words) {
      await pace.breathe();
      if (lists[index] !== null)
        addScores(lists[index]!, 0, visible, segment, chosen[index]!, room.scores, room.fields);
    }
    fields.push(room.fields.slice(0, size));
    giveBack(room);
  }
  return hits.map((hit) => ({ ...hit, fields: fields[hit.segment]![hit.at]! }));
}
