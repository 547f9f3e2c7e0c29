/** The search by entity: documents with an entity of a type from which a path of references leads to a value. */
import { WorkcrateError } from '../../../platform/errors.ts';
import { maxEntityPathSteps, parseFieldFilters, type EntityCondition } from '../query/parse.ts';
import { foldCaseAndAccents } from '../text/words.ts';
import {
  entitiesPerDocument,
  foldValue,
  hashValue,
  toTypeToken,
  toValueToken,
  walkBack,
  type EntityGraph,
} from './entities.ts';
import {
  applyFilter,
  applyList,
  matchClause,
  orderDocuments,
  type Candidates,
  type Searching,
} from './matching.ts';
import {
  boundPaging,
  maxDescription,
  maxOffset,
  readResults,
  startOf,
  type ReadingRows,
  type SearchResult,
} from './results.ts';
import type { ResultRow } from './rows.ts';
import { parseShownTexts } from './texts.ts';

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

/** So many documents are looked into at a time; once a page is full, the rest are no longer counted. */
const documentsAtOnce = 200;

export async function searchByEntity(searching: ReadingRows, request: EntityRequest): Promise<EntityPage> {
  const { limit, offset } = boundPaging(request);
  const condition = parseEntityRequest(request);
  const candidates = await selectByEntry(searching, request.entry);
  const end = offset + limit;
  const { documents, total } = await listInOrder(searching, condition, candidates, end);
  const page = documents.slice(offset, end);
  const rows = await readResults(searching, page);
  const results = page.flatMap((document) => rows.get(document) ?? []).map(toEntitySearchResult);
  const isMore = page.length > 0 && (total === null || end < total) && end <= maxOffset;
  return { total, results, next: isMore ? end : null };
}

function toEntitySearchResult(row: ResultRow): EntitySearchResult {
  const { author = [], year = null } = parseShownTexts(row);
  const description = startOf(row.description, maxDescription);
  return {
    crateId: row.crate_id,
    title: row.title,
    description,
    locator: row.locator,
    authors: author,
    year,
  };
}

function parseEntityRequest({ type, path, value, exact }: EntityRequest): EntityCondition {
  const steps = path.split('.').map((step) => step.trim());
  if (steps.length > maxEntityPathSteps || steps.includes(''))
    throw new WorkcrateError(
      'invalid_input',
      `A path is names of properties with dots between them, such as author.affiliation.name, at most ${maxEntityPathSteps}.`,
    );
  return { type: type.trim(), path: steps, value, exact, negated: false };
}

async function selectByEntry(searching: Searching, entry: EntityRequest['entry']): Promise<Candidates> {
  const candidates = searching.visible.marks.slice();
  if (entry === null) return candidates;
  const { filters, required } = parseFieldFilters([[entry.field, entry.value]]);
  for (const filter of filters) applyFilter(searching.visible, candidates, filter);
  for (const clause of required)
    applyList(candidates, (await matchClause(searching, clause)).documents, false);
  return candidates;
}

/** The first of those that fit, in the order that is the same everywhere, and how many there are. */
async function listInOrder(
  searching: Searching,
  condition: EntityCondition,
  candidates: Candidates,
  wanted: number,
): Promise<{ documents: number[]; total: number | null }> {
  const { columns } = searching.visible;
  const { sure, unsure } = await findHolders(searching, condition, candidates);
  if (unsure.size === 0) return { documents: orderDocuments(columns, [...sure], wanted), total: sure.size };
  const all = orderDocuments(columns, [...sure, ...unsure.keys()], Infinity);
  const documents: number[] = [];
  for (let at = 0; at < all.length; at += documentsAtOnce) {
    if (documents.length > wanted) return { documents, total: null };
    const some = all.slice(at, at + documentsAtOnce);
    const leading = await selectLeading(searching, condition, some, unsure);
    documents.push(...some.filter((document) => sure.has(document) || leading.has(document)));
  }
  return { documents, total: documents.length };
}

/** The documents that a condition of a query holds for. What is no candidate is not looked into. */
export async function findDocumentsWith(
  searching: Searching,
  condition: EntityCondition,
  candidates: Candidates,
): Promise<Set<number>> {
  const { sure, unsure } = await findHolders(searching, condition, candidates);
  const doubtful = [...unsure.keys()];
  for (let at = 0; at < doubtful.length; at += documentsAtOnce) {
    const some = doubtful.slice(at, at + documentsAtOnce);
    for (const document of await selectLeading(searching, condition, some, unsure)) sure.add(document);
  }
  return sure;
}

/** Entities of a document from which references lead back, each with the path that they are the end of. */
type Ends = readonly { readonly path: readonly string[]; readonly entities: readonly number[] }[];

interface Holders {
  /** Documents that fit. */
  readonly sure: Set<number>;
  /** Documents whose references have to be followed, and from where. */
  readonly unsure: Map<number, Ends>;
}

async function findHolders(
  searching: Searching,
  condition: EntityCondition,
  candidates: Candidates,
): Promise<Holders> {
  const sure = new Set<number>();
  const unsure = new Map<number, Ends>();
  for (const { path, value, exact } of listReadings(condition)) {
    const tokens = await findValueTokens(searching, path.at(-1)!, value, exact);
    // Where references lead to the entity, its own type may be any.
    const type = path.length > 1 || condition.type === anyType ? '' : `"${toTypeToken(condition.type)}" AND `;
    const ends = new Map<number, number[]>();
    for (const token of tokens) {
      await searching.pace.breathe();
      for (const entity of readEntities(searching, `${type}"${token}"`)) {
        const document = Math.floor(entity / entitiesPerDocument);
        if (candidates[document] !== 1) continue;
        if (path.length === 1) sure.add(document);
        else if (ends.has(document)) ends.get(document)!.push(entity % entitiesPerDocument);
        else ends.set(document, [entity % entitiesPerDocument]);
      }
    }
    for (const [document, entities] of ends)
      if (!sure.has(document)) unsure.set(document, [...(unsure.get(document) ?? []), { path, entities }]);
  }
  return { sure, unsure };
}

const anyType = '*';

/** A reference to an entity is also found by that entity's id, where the whole value is asked for. */
function listReadings(condition: EntityCondition): EntityCondition[] {
  const { path, exact } = condition;
  return exact && path.at(-1) !== '@id' ? [condition, { ...condition, path: [...path, '@id'] }] : [condition];
}

const readEntities = ({ local }: Searching, expression: string): number[] =>
  (
    local.prepare('SELECT rowid FROM entities WHERE entities MATCH ?').all(expression) as unknown as [
      number,
    ][]
  ).map(([entity]) => entity);

/** Trigrams find no shorter part; of so many values each is looked at instead. */
const maxValuesWithoutTrigrams = 200_000;
const trigramLength = 3;

/** The tokens of a property with a value, or with any value that a part is in. */
async function findValueTokens(
  { local, pace }: Searching,
  property: string,
  value: string,
  exact: boolean,
): Promise<string[]> {
  if (exact) return [toValueToken(hashValue(property, value))];
  await pace.breathe();
  const needle = foldValue(value);
  const trigrams = listTrigrams(needle);
  if (trigrams.length === 0) {
    const isMore = local
      .prepare('SELECT 1 FROM entity_values LIMIT 1 OFFSET ?')
      .get(maxValuesWithoutTrigrams);
    if (isMore !== undefined) throw partTooShortError();
  }
  const rows =
    trigrams.length === 0
      ? local
          .prepare('SELECT token FROM entity_values WHERE property = ? AND instr(folded, ?) > 0')
          .all(property, needle)
      : local
          .prepare(
            `SELECT token FROM parts JOIN entity_values ON token = parts.rowid
             WHERE parts MATCH ? AND property = ? AND instr(entity_values.folded, ?) > 0`,
          )
          .all(trigrams.map((each) => `"${each}"`).join(' AND '), property, needle);
  return (rows as unknown as [number][]).map(([hash]) => toValueToken(hash));
}

/** Some of them are enough: what they find is looked at. */
const maxTrigrams = 32;

function listTrigrams(needle: string): string[] {
  const letters = Array.from(needle);
  const all = letters.slice(trigramLength - 1).map((_, at) => letters.slice(at, at + trigramLength).join(''));
  return [...new Set(all)].slice(0, maxTrigrams).map((trigram) => trigram.replaceAll('"', '""'));
}

const partTooShortError = (): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    'A part of a value must have at least 3 characters. Give a longer part, or the whole value with exact: true.',
  );

/** Which of some documents have an entity of the type from which the path leads to one of the ends. */
async function selectLeading(
  { local, pace }: Searching,
  { type }: EntityCondition,
  documents: readonly number[],
  unsure: ReadonlyMap<number, Ends>,
): Promise<Set<number>> {
  const doubtful = documents.filter((document) => unsure.has(document));
  pace.lookInto(doubtful.length);
  const found = new Set<number>();
  const folded = foldCaseAndAccents(type);
  const fits = ({ types }: EntityGraph, entity: number): boolean =>
    type === anyType || [types[entity]!].flat().some((name) => foldCaseAndAccents(name) === folded);
  for (const document of doubtful) {
    await pace.breathe();
    const row = local.prepare('SELECT graph FROM graphs WHERE document = ?').get(document);
    if (row === undefined) continue;
    const graph = JSON.parse((row as unknown as [string])[0]) as EntityGraph;
    for (const { path, entities } of unsure.get(document)!)
      if (
        walkBack(graph, path.slice(0, -1), entities)
          .values()
          .some((entity) => fits(graph, entity))
      )
        found.add(document);
  }
  return found;
}
