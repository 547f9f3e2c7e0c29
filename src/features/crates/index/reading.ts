/**
 * Reads the local index: search, search by entity, fields, status and single crates, each as one viewer may see them. It
 * never writes (`filling.ts` does), and leaves tokenizing and parsing of queries to `text/` and `query/`.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { facets } from '../query/facets.ts';
import { textFields } from '../query/text-fields.ts';
import type { Meaning } from './ranking.ts';
import { createColumns, selectVisible, shapeColumn, type VisibleDocuments } from './columns.ts';
import type { EntityShape } from './entities.ts';
import { searchByEntity, type EntityPage, type EntityRequest } from './entity-search.ts';
import { getBehindIndexFile, indexBehindError, toLocalIndexError, type LocalIndex } from './local-index.ts';
import { createPace, type Pace, type PaceLimits } from './pace.ts';
import { countCodes, countFacets, listMostFrequent, type ValueCount } from './results.ts';
import { countMissing, readCrateRow, readSequence, type IndexedCrate, type Viewing } from './rows.ts';
import { searchCrates, type CrateSearching, type SearchPage, type SearchRequest } from './searching.ts';
import { readIndexStatus, type IndexStatus, type StatusRequest } from './status.ts';

export type { EntityPage, EntityRequest } from './entity-search.ts';
export type { SearchResult } from './results.ts';
export type { SearchMode, SearchPage, SearchRequest } from './searching.ts';
export type { IndexStatus, StatusRequest } from './status.ts';

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
  /** Rejects where the file is not as far as the rows; see `getBehindIndexFile`. */
  demandCaughtUp(): Promise<void>;
  /** How many crates that the viewer may see cannot be found yet. */
  countMissing(viewer: string): Promise<number>;
}

const maxAttempts = 3;

export interface ReaderOptions {
  readonly meaning?: Meaning | null;
  readonly clock?: Clock;
  /** The URLs of the sources whose crates may be seen; null or left out: all that are in the index. */
  readonly sources?: readonly string[] | null;
  /** Smaller ones for tests. */
  readonly limits?: Partial<PaceLimits>;
}

export function createIndexReader(
  database: Database,
  local: LocalIndex,
  { meaning = null, clock = Date.now, sources = null, limits = {} }: ReaderOptions = {},
): IndexReader {
  const readColumns = createColumns(local);
  const named = sources === null ? null : new Set(sources);
  const toViewing = (viewer: string): Viewing => ({ viewer, sources: named });

  /** Again, where a crate that was found is gone by now; there is one limit for all attempts. */
  async function read<T>(
    viewer: string,
    signal: AbortSignal | undefined,
    work: (searching: CrateSearching) => Promise<T>,
  ): Promise<T> {
    const pace = createPace(signal ?? null, limits);
    for (let attempt = 1; ; attempt++) {
      await pace.breathe();
      try {
        const visible = local.read(() => {
          if (local.readState() === null) throw indexBehindError(null, null);
          return selectVisible(local, readColumns(), viewer, named);
        });
        const viewing = toViewing(viewer);
        const isLastAttempt = attempt === maxAttempts;
        return await work({ database, local, visible, viewing, meaning, pace, isLastAttempt });
      } catch (error) {
        const isBusy = isWorkcrateError(error, 'index_busy') && getBehindIndexFile(error) === null;
        if (!isBusy || attempt === maxAttempts) throw toLocalIndexError(error);
      }
    }
  }

  return {
    search: (viewer, request, signal) =>
      read(viewer, signal, (searching) => searchCrates(searching, request)),
    byEntity: (viewer, request, signal) =>
      read(viewer, signal, (searching) => searchByEntity(searching, request)),
    fields: (viewer, signal) => read(viewer, signal, ({ visible, pace }) => listFields(visible, pace)),
    get: (viewer, crateId) => readCrateRow(database, crateId, toViewing(viewer)),
    status: (viewer, request) =>
      readIndexStatus({ database, meaning, sources: named }, viewer, request, clock()),
    async demandCaughtUp() {
      const { sequence } = await readSequence(database);
      const state = callLocal(() => local.readState());
      if (state === null || state.applied !== sequence) throw indexBehindError(null, null);
    },
    countMissing: (viewer) =>
      countMissing(database, callLocal(() => local.readState())?.applied ?? 0, toViewing(viewer)),
  };
}

function callLocal<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw toLocalIndexError(error);
  }
}

export interface FieldList {
  readonly fields: { name: string; weight: number; description: string }[];
  readonly filters: { name: string; description: string; values: ValueCount[] }[];
  /** Types of entities with the properties that they have, by how many crates have them. */
  readonly entities: { type: string; crates: number; properties: string[] }[];
}

const maxValues = 50;
const maxTypes = 200;
const maxProperties = 50;

async function listFields(visible: VisibleDocuments, pace: Pace): Promise<FieldList> {
  const values = countFacets(visible, visible.marks, maxValues);
  return {
    fields: textFields.map(({ name, weight, description }) => ({ name, weight, description })),
    filters: facets.map(({ name, description }) => ({ name, description, values: values[name]! })),
    entities: await listEntityTypes(visible, pace),
  };
}

async function listEntityTypes(
  { columns, marks }: VisibleDocuments,
  pace: Pace,
): Promise<FieldList['entities']> {
  const types = new Map<string, number>();
  const properties = new Map<string, Map<string, number>>();
  for (const [code, count] of countCodes(columns.codes[shapeColumn]!, marks)) {
    await pace.breathe();
    for (const [type, names] of JSON.parse(columns.text(code)) as EntityShape) {
      types.set(type, (types.get(type) ?? 0) + count);
      const known = properties.get(type) ?? new Map<string, number>();
      properties.set(type, known);
      for (const name of names) known.set(name, (known.get(name) ?? 0) + count);
    }
  }
  return listMostFrequent(types, maxTypes).map(({ value: type, count: crates }) => ({
    type,
    crates,
    properties: listMostFrequent(properties.get(type)!, maxProperties).map(({ value }) => value),
  }));
}
