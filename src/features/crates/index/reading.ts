/**
 * Reads the inverted index: search, search by entity, fields, status and single crates, each as one viewer may see them.
 * It never writes (`writing.ts` does), and leaves tokenizing and parsing of queries to `text/` and `query/`.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queries } from '../../../ports/database/database.ts';
import { WorkcrateError, isWorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import type { CrateLocation } from '../crate.ts';
import { facets } from '../query/facets.ts';
import { textFields } from '../query/text-fields.ts';
import { createBlockCache, scan, type BlockCache } from './blocks.ts';
import { searchByEntity, type EntityPage, type EntityRequest } from './entity-search.ts';
import { createPace, paced, type Pace, type PaceLimits } from './pace.ts';
import { afterPrefix, eachPosting, fromKey, kinds, type Postings } from './postings.ts';
import type { Meaning } from './ranking.ts';
import { countFacets, meaningText, topOf, type ValueCount } from './results.ts';
import { newest, barNothing } from './scoring.ts';
import { search, type SearchPage, type SearchRequest } from './searching.ts';
import { createViews, visibleTo, type Visible, type VisibleSegment } from './segments.ts';
import { fromSources, statusOf, type IndexStatus, type StatusRequest } from './status.ts';
import { placeColumns, toCrateLocation, type PlaceRow } from './writing.ts';

export type { EntityPage, EntityRequest } from './entity-search.ts';
export type { SearchResult } from './results.ts';
export type { SearchMode, SearchPage, SearchRequest } from './searching.ts';
export type { IndexStatus, StatusRequest } from './status.ts';

/** A crate of the index. */
export interface IndexedCrate {
  readonly place: CrateLocation;
  readonly root: string;
  /** JSON, as it was given. */
  readonly summary: string;
}

/** A document as the search by meaning is fitted to it. */
export interface IndexedDocument {
  readonly document: number;
  readonly crateId: string;
  readonly text: string;
  /** Whether one user alone may see it. */
  readonly isPrivate: boolean;
}

/**
 * Answers from the index as it is at the time of the call. A viewer sees what is for all and what is their own. What
 * takes long gives way to others, ends with its signal, and ends by itself as `invalid_input`.
 */
export interface IndexReader {
  search(viewer: string, request: SearchRequest, signal?: AbortSignal): Promise<SearchPage>;
  byEntity(viewer: string, request: EntityRequest, signal?: AbortSignal): Promise<EntityPage>;
  fields(viewer: string, signal?: AbortSignal): Promise<FieldList>;
  /** Null where there is none that may be seen; a broken one rejects with what is wrong with it. */
  get(viewer: string, crateId: string): Promise<IndexedCrate | null>;
  status(viewer: string, request: StatusRequest): Promise<IndexStatus>;
  /** Everything that can be found, in the order of content. */
  documents(): AsyncIterable<IndexedDocument>;
  /** The same of a single crate; null where it is not in the index. */
  documentOf(crateId: string): Promise<IndexedDocument | null>;
}

const defaultCacheBytes = 64 * 1024 * 1024;
const mostAttempts = 10;

export interface ReaderOptions {
  readonly cacheBytes?: number;
  readonly clock?: Clock;
  /** The URLs of the sources whose crates may be seen; null or left out: all that are in the index. */
  readonly sources?: readonly string[] | null;
  /** Smaller ones for tests. */
  readonly limits?: Partial<PaceLimits>;
}

export function createIndexReader(
  database: Database,
  meaning: Meaning | null,
  { cacheBytes = defaultCacheBytes, clock = Date.now, sources = null, limits = {} }: ReaderOptions = {},
): IndexReader {
  const all = createBlockCache(database, cacheBytes);
  const viewNow = createViews(database, all);
  const named = sources === null ? null : new Set(sources);

  /** Again, where a merge has taken away what was being read; there is one limit for all attempts. */
  const reading = async <T>(
    viewer: string,
    signal: AbortSignal | undefined,
    read: (room: { cache: BlockCache; visible: Visible; pace: Pace }) => Promise<T>,
  ): Promise<T> => {
    const pace = createPace(signal ?? null, limits);
    const cache = paced(all, pace);
    for (let attempt = 1; ; attempt++) {
      await pace.breathe();
      try {
        return await read({ cache, visible: visibleTo(await viewNow(), viewer, named), pace });
      } catch (error) {
        if (!isWorkcrateError(error, 'index_busy') || attempt === mostAttempts) throw error;
      }
    }
  };

  return {
    search: (viewer, request, signal) =>
      reading(viewer, signal, (room) => search({ ...room, database, meaning }, request)),
    byEntity: (viewer, request, signal) =>
      reading(viewer, signal, (room) => searchByEntity({ ...room, database }, request)),
    fields: (viewer, signal) =>
      reading(viewer, signal, ({ cache, visible, pace }) => listFields(cache, visible, pace)),
    get: (viewer, crateId) => getCrate(database, named, viewer, crateId),
    status: (viewer, request) => statusOf({ database, meaning, sources: named }, viewer, request, clock()),
    documents: () => allDocuments(database, named),
    documentOf: (crateId) => documentOf(database, named, crateId),
  };
}

type GotRow = PlaceRow & {
  root: string;
  summary: string;
  state: 'ok' | 'broken';
  code: ErrorCode;
  reason: string;
};

type Sources = ReadonlySet<string> | null;

async function getCrate(
  database: Database,
  sources: Sources,
  viewer: string,
  crateId: string,
): Promise<IndexedCrate | null> {
  const [row] = await database.query<GotRow>(
    `SELECT ${placeColumns}, root, summary, state, code, reason FROM crates
     WHERE crate_id = ? AND (owner IS NULL OR owner = ?)`,
    crateId,
    viewer,
  );
  if (row === undefined || sources?.has(row.source) === false) return null;
  if (row.state === 'broken') throw new WorkcrateError(row.code, row.reason);
  return { place: toCrateLocation(row), root: row.root, summary: row.summary };
}

const atOnce = 200;

type DocumentRow = {
  document: number;
  crate_id: string;
  sort_key: Uint8Array;
  owner: string | null;
  title: string;
  description: string;
  shown: string;
};

const documentColumns = 'document, crate_id, sort_key, owner, title, description, shown';

async function* allDocuments(database: Database, sources: Sources): AsyncGenerator<IndexedDocument> {
  const { sql, values } = fromSources(sources);
  for (let after: Uint8Array = new Uint8Array(0); ;) {
    const rows = await database.query<DocumentRow>(
      `SELECT ${documentColumns} FROM crates
       WHERE sort_key > ? AND state = 'ok' ${sql} ORDER BY sort_key LIMIT ${atOnce}`,
      after,
      ...values,
    );
    if (rows.length === 0) return;
    yield* rows.map(documentFrom);
    after = rows.at(-1)!.sort_key;
  }
}

async function documentOf(
  database: Database,
  sources: Sources,
  crateId: string,
): Promise<IndexedDocument | null> {
  const { sql, values } = fromSources(sources);
  const [row] = await database.query<DocumentRow>(
    `SELECT ${documentColumns} FROM crates WHERE crate_id = ? AND state = 'ok' ${sql}`,
    crateId,
    ...values,
  );
  return row === undefined ? null : documentFrom(row);
}

const documentFrom = (row: DocumentRow): IndexedDocument => ({
  document: row.document,
  crateId: row.crate_id,
  text: meaningText(row),
  isPrivate: row.owner !== null,
});

/** How much stands in a source. */
export interface Held {
  readonly bytes: number;
  readonly crates: number;
}

/** What the index knows of in a source, broken crates too: one owner's, everybody's for null, or all of it. */
export async function bytesIn(
  database: Queries,
  source: string,
  owner: string | null | undefined,
): Promise<Held> {
  const whose = owner === undefined ? '' : owner === null ? 'AND owner IS NULL' : 'AND owner = ?';
  const [held] = await database.query<{ bytes: number; crates: number }>(
    `SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes, CAST(COUNT(*) AS BIGINT) AS crates
     FROM crates WHERE source = ? ${whose}`,
    source,
    ...(typeof owner === 'string' ? [owner] : []),
  );
  return held!;
}

export interface FieldList {
  readonly fields: { name: string; weight: number; description: string }[];
  readonly filters: { name: string; description: string; values: ValueCount[] }[];
  /** Types of entities with the properties that they have, by how many crates have them. */
  readonly entities: { type: string; crates: number; properties: string[] }[];
}

const mostValues = 50;
const mostTypes = 200;
const mostProperties = 50;

async function listFields(cache: BlockCache, visible: Visible, pace: Pace): Promise<FieldList> {
  const { chosen } = await newest(visible, barNothing(visible), 0, pace);
  const values = await countFacets(visible, chosen, mostValues, pace);
  return {
    fields: textFields.map(({ name, weight, description }) => ({ name, weight, description })),
    filters: facets.map(({ name, description }) => ({ name, description, values: values[name]! })),
    entities: await entityTypes(cache, visible, pace),
  };
}

async function entityTypes(cache: BlockCache, visible: Visible, pace: Pace): Promise<FieldList['entities']> {
  const byType = new Map<string, Map<string, number>>();
  for (const segment of visible.segments)
    for await (const entries of scan(cache, segment.of, kinds.property, afterPrefix(kinds.property))) {
      await pace.breathe();
      for (const { key, postings } of entries) {
        const [type, property] = key.slice(1).split('\0');
        const count = seenIn(segment, postings);
        const properties = byType.get(type!) ?? new Map<string, number>();
        if (count > 0) byType.set(type!, properties.set(property!, (properties.get(property!) ?? 0) + count));
      }
    }
  // Every entity has an id, hence that counts the crates with the type.
  const types = new Map(Array.from(byType, ([type, properties]) => [type, properties.get('@id') ?? 0]));
  types.delete('');
  return topOf(types, mostTypes).map(({ value, count }) => ({
    type: fromKey(value),
    crates: count,
    properties: topOf(byType.get(value)!, mostProperties).map((property) => fromKey(property.value)),
  }));
}

function seenIn({ hidden }: VisibleSegment, postings: Postings): number {
  if (hidden === null) return postings.count;
  let seen = 0;
  eachPosting(postings, false, (document) => (seen += 1 - hidden[document]!));
  return seen;
}
