import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { isWorkcrateError, WorkcrateError, type ErrorCode } from '../../errors.ts';
import type { CratePlace } from '../crate.ts';
import { createBlockCache } from './block-cache.ts';
import { placeColumns, placeOf, type PlaceRow } from './crate-rows.ts';
import { searchByEntity, type EntityPage, type EntityRequest } from './entity-search.ts';
import { listFields, type FieldList } from './field-list.ts';
import type { Meaning } from './ranking.ts';
import { meaningText } from './result-rows.ts';
import { search, type SearchPage, type SearchRequest } from './searching.ts';
import { statusOf, type IndexStatus, type StatusRequest } from './status.ts';
import { createViews } from './view.ts';
import { visibleTo, type Visible } from './visible.ts';

export { bytesIn } from './bytes-in.ts';
export type { EntityPage, EntityRequest } from './entity-search.ts';
export type { FieldList } from './field-list.ts';
export type { SearchResult } from './results.ts';
export type { SearchMode, SearchPage, SearchRequest } from './searching.ts';
export type { IndexStatus, StatusRequest } from './status.ts';

/** A crate of the index. */
export interface IndexedCrate {
  readonly place: CratePlace;
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

/** Answers from the index as it is at the time of the call. A viewer sees what is for all and what is their own. */
export interface IndexReader {
  search(viewer: string, request: SearchRequest): Promise<SearchPage>;
  byEntity(viewer: string, request: EntityRequest): Promise<EntityPage>;
  fields(viewer: string): Promise<FieldList>;
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

export function createIndexReader(
  database: Database,
  meaning: Meaning | null,
  { cacheBytes = defaultCacheBytes, clock = Date.now }: { cacheBytes?: number; clock?: Clock } = {},
): IndexReader {
  const cache = createBlockCache(database, cacheBytes);
  const viewNow = createViews(database, cache);

  /** Again, where a merge has taken away what was being read. */
  const reading = async <T>(viewer: string, read: (visible: Visible) => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await read(visibleTo(await viewNow(), viewer));
      } catch (error) {
        if (!isWorkcrateError(error, 'index_busy') || attempt === mostAttempts) throw error;
      }
    }
  };

  return {
    search: (viewer, request) =>
      reading(viewer, (visible) => search({ database, cache, visible, meaning }, request)),
    byEntity: (viewer, request) =>
      reading(viewer, (visible) => searchByEntity({ database, cache, visible }, request)),
    fields: (viewer) => reading(viewer, (visible) => listFields(cache, visible)),
    get: (viewer, crateId) => getCrate(database, viewer, crateId),
    status: (viewer, request) => statusOf(database, meaning, viewer, request, clock()),
    documents: () => allDocuments(database),
    documentOf: (crateId) => documentOf(database, crateId),
  };
}

type GotRow = PlaceRow & {
  root: string;
  summary: string;
  state: 'ok' | 'broken';
  code: ErrorCode;
  reason: string;
};

async function getCrate(database: Database, viewer: string, crateId: string): Promise<IndexedCrate | null> {
  const [row] = await database.query<GotRow>(
    `SELECT ${placeColumns}, root, summary, state, code, reason FROM crates
     WHERE crate_id = ? AND (owner IS NULL OR owner = ?)`,
    crateId,
    viewer,
  );
  if (row === undefined) return null;
  if (row.state === 'broken') throw new WorkcrateError(row.code, row.reason);
  return { place: placeOf(row), root: row.root, summary: row.summary };
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

async function* allDocuments(database: Database): AsyncGenerator<IndexedDocument> {
  for (let after: Uint8Array = new Uint8Array(0); ;) {
    const rows = await database.query<DocumentRow>(
      `SELECT ${documentColumns} FROM crates
       WHERE sort_key > ? AND state = 'ok' ORDER BY sort_key LIMIT ${atOnce}`,
      after,
    );
    if (rows.length === 0) return;
    yield* rows.map(documentFrom);
    after = rows.at(-1)!.sort_key;
  }
}

async function documentOf(database: Database, crateId: string): Promise<IndexedDocument | null> {
  const [row] = await database.query<DocumentRow>(
    `SELECT ${documentColumns} FROM crates WHERE crate_id = ? AND state = 'ok'`,
    crateId,
  );
  return row === undefined ? null : documentFrom(row);
}

const documentFrom = (row: DocumentRow): IndexedDocument => ({
  document: row.document,
  crateId: row.crate_id,
  text: meaningText(row),
  isPrivate: row.owner !== null,
});
