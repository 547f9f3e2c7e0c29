import type { Database } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import { maxEntityPathSteps, parseFieldFilters, type EntityCondition } from '../query/parse.ts';
import { barByFilter, barDocuments, nothingBarred, type Barred } from './barring.ts';
import type { BlockCache } from './block-cache.ts';
import { listsOf } from './clause-lists.ts';
import { candidatesIn, documentsHolding, leadingBack, readings } from './entity-matching.ts';
import { documentNumber } from './locating.ts';
import type { Pace } from './pace.ts';
import { boundPaging, mostOffset } from './paging.ts';
import { resultRows, shownIn, type ResultRow } from './result-rows.ts';
import { mostDescription, type SearchResult } from './results.ts';
import { Best, compareKeys, match, weigh, type Hit } from './scoring.ts';
import { startOf } from './snippet.ts';
import type { Visible } from './visible.ts';

export interface EntityRequest {
  /** `*` for any. */
  readonly type: string;
  /** Properties with dots between; all but the last are references. */
  readonly path: string;
  readonly value: string;
  /** A field or facet of the crate that has to hold something too. */
  readonly entry: { readonly field: string; readonly value: string } | null;
  readonly exact: boolean;
  readonly limit: number;
  readonly offset: number;
}

/** A crate that was found by an entity, which has no score and no snippet. */
type EntitySearchResult = Omit<SearchResult, 'score' | 'snippet' | 'matched'>;

export interface EntityPage {
  /** Null where there are too many to count each. */
  readonly total: number | null;
  readonly results: EntitySearchResult[];
  readonly next: number | null;
}

interface Room {
  readonly database: Database;
  readonly cache: BlockCache;
  readonly visible: Visible;
  readonly pace: Pace;
}

/** So many documents are looked into at a time; once a page is full, the rest are no longer counted. */
const atOnce = 200;

export async function searchByEntity(room: Room, request: EntityRequest): Promise<EntityPage> {
  const { limit, offset } = boundPaging(request);
  const condition = conditionOf(request);
  const barred = await barredBy(room, request.entry);
  const end = offset + limit;
  const { hits, total } = await ordered(room, condition, barred, end);
  const page = hits.slice(offset, end).map((hit) => documentNumber(room.visible, hit));
  const results = (await resultRows(room.database, page)).map(toEntitySearchResult);
  const isMore = results.length > 0 && (total === null || end < total) && end <= mostOffset;
  return { total, results, next: isMore ? end : null };
}

function toEntitySearchResult(row: ResultRow): EntitySearchResult {
  const { author = [], year = null } = shownIn(row);
  const description = startOf(row.description, mostDescription);
  return {
    crateId: row.crate_id,
    title: row.title,
    description,
    locator: row.locator,
    authors: author,
    year,
  };
}

function conditionOf({ type, path, value, exact }: EntityRequest): EntityCondition {
  const steps = path.split('.').map((step) => step.trim());
  if (steps.length > maxEntityPathSteps || steps.includes(''))
    throw new WorkcrateError(
      'invalid_input',
      `A path is names of properties with dots between them, such as author.affiliation.name, at most ${maxEntityPathSteps}.`,
    );
  return { type: type.trim(), path: steps, value, exact, negated: false };
}

async function barredBy({ cache, visible, pace }: Room, entry: EntityRequest['entry']): Promise<Barred> {
  const barred = nothingBarred(visible);
  if (entry === null) return barred;
  const { filters, required } = parseFieldFilters([[entry.field, entry.value]]);
  for (const filter of filters) await barByFilter(visible, barred, filter, pace);
  if (required.length === 0) return barred;
  const lists = await listsOf({ cache, visible, pace }, required, new Set());
  const weighed = lists.map((list) => weigh(visible, list));
  const { chosen } = await match(visible, { wanted: [], required: weighed, barred }, 0, pace);
  barDocuments(visible, barred, chosen, false);
  return barred;
}

type Placed = Pick<Hit, 'segment' | 'at'>;

/** The first of those that fit, in the order that is the same everywhere, and how many there are. */
async function ordered(
  room: Room,
  condition: EntityCondition,
  barred: Barred,
  wanted: number,
): Promise<{ hits: Placed[]; total: number | null }> {
  const { sure, unsure } = await sift(room, condition, barred);
  if (unsure.size === 0) return firstOf(room.visible, sure, wanted);
  const all = [...placesOf(sure), ...unsure.values()].sort((one, other) =>
    compareKeys(room.visible, one, other),
  );
  const hits: Placed[] = [];
  for (let at = 0; at < all.length; at += atOnce) {
    if (hits.length > wanted) return { hits, total: null };
    hits.push(...(await fittingOf(room, all.slice(at, at + atOnce), unsure)));
  }
  return { hits, total: hits.length };
}

function firstOf(visible: Visible, sure: Sifted['sure'], wanted: number) {
  const best = new Best(visible, wanted);
  let total = 0;
  for (const [index, documents] of sure.entries()) {
    const { sortNumbers } = visible.segments[index]!.of.columns;
    for (const at of documents) best.add(index, at, -sortNumbers[at]!);
    total += documents.length;
  }
  return { hits: best.sorted(), total };
}

const placesOf = (sure: Sifted['sure']): Placed[] =>
  sure.flatMap((documents, segment) => documents.map((at) => ({ segment, at })));

interface Unsure extends Placed {
  /** What the document may have, each with the entities that have the value. */
  readonly readings: { readonly condition: EntityCondition; readonly entities: readonly number[] }[];
}

interface Sifted {
  /** By segment: the documents that fit, in order. */
  readonly sure: readonly (readonly number[])[];
  /** Documents whose references have to be looked at, by their numbers in the index. */
  readonly unsure: Map<number, Unsure>;
}

async function sift({ cache, visible }: Room, condition: EntityCondition, barred: Barred): Promise<Sifted> {
  const sure: (readonly number[])[] = visible.segments.map(() => []);
  const unsure = new Map<number, Unsure>();
  for (const reading of readings(condition))
    for (const [index, segment] of visible.segments.entries()) {
      const out = barred[index]!;
      if (reading.path.length === 1) {
        sure[index] = await documentsHolding(cache, segment, reading, out);
        continue;
      }
      const candidates = await candidatesIn(cache, segment, reading);
      if (candidates.size === 0) continue;
      const known = new Set(sure[index]);
      for (const [at, entities] of candidates)
        if (out?.[at] !== 1 && !known.has(at))
          addUnsure(unsure, visible, { segment: index, at }, { condition: reading, entities });
    }
  return { sure, unsure };
}

function addUnsure(
  unsure: Map<number, Unsure>,
  visible: Visible,
  place: Placed,
  reading: Unsure['readings'][number],
): void {
  const document = documentNumber(visible, place);
  const known = unsure.get(document) ?? { ...place, readings: [] };
  known.readings.push(reading);
  unsure.set(document, known);
}

async function fittingOf(
  { database, visible, pace }: Room,
  places: readonly Placed[],
  unsure: ReadonlyMap<number, Unsure>,
): Promise<Placed[]> {
  const fits = new Set<number>();
  const byCondition = new Map<EntityCondition, Map<number, readonly number[]>>();
  for (const place of places) {
    const document = documentNumber(visible, place);
    const doubtful = unsure.get(document);
    if (doubtful === undefined) fits.add(document);
    for (const { condition, entities } of doubtful?.readings ?? []) {
      const own = byCondition.get(condition) ?? new Map<number, readonly number[]>();
      byCondition.set(condition, own.set(document, entities));
    }
  }
  for (const [condition, entities] of byCondition)
    for (const document of await leadingBack(database, condition, entities, pace)) fits.add(document);
  return places.filter((place) => fits.has(documentNumber(visible, place)));
}

/** The documents, by segment, that a condition of a query holds for, as marks. What is barred is not looked into. */
export async function documentsWith(
  room: Room,
  condition: EntityCondition,
  barred: Barred,
): Promise<Uint8Array[]> {
  const { sure, unsure } = await sift(room, condition, barred);
  const found = room.visible.segments.map(({ of }) => new Uint8Array(of.columns.size));
  for (const [segment, documents] of sure.entries()) for (const at of documents) found[segment]![at] = 1;
  const doubtful = [...unsure.values()];
  for (let at = 0; at < doubtful.length; at += atOnce)
    for (const place of await fittingOf(room, doubtful.slice(at, at + atOnce), unsure))
      found[place.segment]![place.at] = 1;
  return found;
}
