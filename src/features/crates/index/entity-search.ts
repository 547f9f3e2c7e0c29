/** The search by entity: documents with an entity of a type from which a path of references leads to a value. */
import type { Database, Queries } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { maxEntityPathSteps, parseFieldFilters, type EntityCondition } from '../query/parse.ts';
import { foldCaseAndAccents } from '../text/words.ts';
import { lookUpIn, marks, type BlockCache } from './blocks.ts';
import { listsOf } from './clauses.ts';
import {
  containing,
  decodeReferences,
  foldedValue,
  nameKey,
  typePrefix,
  typesWith,
  valueForm,
  valuePart,
  walkBack,
  type References,
} from './entity-index.ts';
import type { Pace } from './pace.ts';
import { eachPosting, fromKey, numbersAt, type Postings } from './postings.ts';
import {
  boundPaging,
  mostDescription,
  mostOffset,
  resultRows,
  shownIn,
  startOf,
  type ResultRow,
  type SearchResult,
} from './results.ts';
import {
  Best,
  barByFilter,
  barDocuments,
  compareKeys,
  match,
  barNothing,
  weigh,
  type Barred,
  type Hit,
} from './scoring.ts';
import { documentNumber, type Visible, type VisibleSegment } from './segments.ts';

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
  const barred = barNothing(visible);
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

const anyType = '*';

/** Calls for all entities whose last property has the value. Where the path has no other step, their type fits too. */
async function eachWithValue(
  cache: BlockCache,
  { of }: VisibleSegment,
  { type, path, value, exact }: EntityCondition,
  call: (postings: Postings) => void,
): Promise<void> {
  const property = path.at(-1)!;
  const all = await typesWith(cache, of, property);
  const types = path.length === 1 ? all.filter(typeTest(type)) : all;
  if (types.length === 0) return;
  const prefixes = types.map((each) => typePrefix(property, each));
  if (exact) {
    const part = valuePart(value);
    for (const postings of await lookUpIn(
      cache,
      of,
      prefixes.map((prefix) => prefix + part),
    ))
      if (postings !== null) call(postings);
  } else {
    const needle = foldedValue(valueForm(value));
    for (const prefix of prefixes)
      for await (const found of containing(cache, of, prefix, needle))
        for (const postings of found) call(postings);
  }
}

/** In a segment the documents that a condition of one step holds for, in order. */
async function documentsHolding(
  cache: BlockCache,
  segment: VisibleSegment,
  condition: EntityCondition,
  barred: Uint8Array | null,
): Promise<readonly number[]> {
  const found: number[] = [];
  let lists = 0;
  await eachWithValue(cache, segment, condition, (postings) => {
    lists++;
    eachPosting(postings, false, (document) => {
      if (segment.hidden?.[document] !== 1 && barred?.[document] !== 1) found.push(document);
    });
  });
  return lists > 1 ? [...new Set(found)].sort((one, other) => one - other) : found;
}

/** In a segment the documents that may be where a path ends, and which of their entities have the value. */
async function candidatesIn(
  cache: BlockCache,
  segment: VisibleSegment,
  condition: EntityCondition,
): Promise<Map<number, number[]>> {
  const documents = new Map<number, number[]>();
  await eachWithValue(cache, segment, condition, (postings) =>
    eachPosting(postings, false, (document, at) => {
      if (segment.hidden?.[document] === 1) return;
      const entities = numbersAt(postings.bytes, at);
      const known = documents.get(document);
      if (known === undefined) documents.set(document, entities);
      else for (const entity of entities) known.push(entity);
    }),
  );
  return documents;
}

/** Types are compared without case. */
function typeTest(type: string): (key: string) => boolean {
  if (type === anyType) return () => true;
  const wanted = foldCaseAndAccents(fromKey(nameKey(type)));
  return (key) => foldCaseAndAccents(fromKey(key)) === wanted;
}

/** Which of some documents, by their numbers in the index, have an entity of the type at the start of the path. */
async function leadingBack(
  queries: Queries,
  { type, path }: EntityCondition,
  entities: ReadonlyMap<number, readonly number[]>,
  pace: Pace,
): Promise<Set<number>> {
  pace.lookInto(entities.size);
  const steps = path.slice(0, -1);
  const fitsType = typeTest(type);
  const fits = ({ types }: References, entity: number): boolean =>
    type === anyType || types[entity]!.some((name) => fitsType(nameKey(name)));
  const rows = await queries.query<{ document: number; bytes: Uint8Array }>(
    `SELECT document, bytes FROM crate_references WHERE document IN (${marks(entities.size)})`,
    ...entities.keys(),
  );
  if (rows.length !== entities.size) throw entityIndexChangedError();
  const found = new Set<number>();
  for (const { document, bytes } of rows) {
    await pace.breathe();
    const references = decodeReferences(bytes);
    const starts = await walkBack(references, steps, entities.get(document)!, pace);
    if (starts.values().some((entity) => fits(references, entity))) found.add(document);
  }
  return found;
}

const entityIndexChangedError = (): WorkcrateError =>
  new WorkcrateError('index_busy', 'The index is changing too fast to be read. Try again in a moment.');

/** A reference to an entity is also found by that entity's id, where the whole value is asked for. */
function readings(condition: EntityCondition): EntityCondition[] {
  const { path, exact } = condition;
  return exact && path.at(-1) !== '@id' ? [condition, { ...condition, path: [...path, '@id'] }] : [condition];
}
