/**
 * What the process that indexes and the thread that searches can do, as calls. How calls cross threads, restarts and
 * shutdown are in `src/platform/workers/`; the index itself is in `index/`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createFairQueue, type FairQueueOptions } from '../../../platform/concurrency/fair-queue.ts';
import type { Database } from '../../../ports/database/database.ts';
import { isDamagedDatabase, openDatabase } from '../../../ports/database/open.ts';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { CallContext } from '../../../platform/workers/workers.ts';
import { createIndexFiller, type IndexFiller } from '../index/filling.ts';
import { indexBehindError, openLocalIndex, type LocalIndex } from '../index/local-index.ts';
import {
  createIndexReader,
  type EntityRequest,
  type IndexReader,
  type SearchRequest,
  type StatusRequest,
} from '../index/reading.ts';
import { createCrateRows, measureSource, readCrateRow } from '../index/rows.ts';
import {
  createEmbedding,
  createMeaning,
  createVectorSource,
  type EndpointOptions,
  type Provider,
} from '../semantic/semantic.ts';
import type { CrateLocation } from '../crate.ts';
import { readMetadata } from '../metadata/metadata.ts';
import { readProvenance, type CrateProvenance } from '../provenance/provenance.ts';
import {
  computeCrateId,
  demandSource,
  openCrateContainer,
  openIndexedSourcesOnce,
  toCrateLocation,
  type ConfiguredSource,
  type IndexedSource,
} from '../sources/sources.ts';
import { createIndexUpdater } from '../sync/index-updater.ts';
import { readCrate } from '../sync/retry.ts';
import { createSharedSync, type SyncResult } from '../sync/shared-sync.ts';
import { describeSyncUnderWay } from '../sync/under-way.ts';
import { createCrateRetries, syncAllSources, type SourceReport } from '../sync/sync.ts';
import { identifyIndex, makeIndexFile, removeLogOfDeletedIndex, setIndexAside } from './index-file.ts';
import { lostIndexError, getLostIndexFile } from './lost-index.ts';

/** The calls of the process that writes the index. It has its own database connection and sources. */
export function createIndexingWorker(
  settings: IndexingSettings,
  log: Log,
  { isAfterFailure }: { isAfterFailure: boolean },
) {
  const clock = Date.now;
  const { location, semantics: provider, endpoint, maxMetadata } = settings;
  const watched = openIndexedSourcesOnce(settings.sources);
  const local = createLocalIndexKeeper(settings, log);
  const index = createIndexHolder(location, async (database) => {
    const rows = createCrateRows(database, { clock });
    const embedding = createEmbedding(database, rows, { provider, endpoint });
    const catchUp = (signal?: AbortSignal) => local.catchUp(database, signal);
    const updater = createIndexUpdater({ database, rows, catchUp, embedding, clock, log });
    const retries = createCrateRetries(database, { clock, isAfterFailure });
    return { database, updater, retries, maxMetadata, clock, log };
  });
  type Room = Parameters<Parameters<typeof index.use>[0]>[0];

  /** If the index is lost, rebuilds it once and repeats the work on the new one. */
  async function use<T>(work: (room: Room) => Promise<T>): Promise<T> {
    try {
      return await index.use(work);
    } catch (error) {
      const lost = getLostIndexFile(error);
      if (lost === null) throw error;
      await renewIndex(lost);
      return index.use(work);
    }
  }

  async function renewIndex(lost: string): Promise<void> {
    const aside = setIndexAside(location, lost);
    removeLogOfDeletedIndex(location);
    log.warn('crates.index_renewed', { reason: lost === '' ? 'deleted' : 'damaged', kept: aside });
    // Callers do not wait until all sources have been read again.
    void readAll().catch((error: unknown) => log.error('crates.sync_failed', { error }));
  }

  const sharedSync = createSharedSync(async (request) => {
    const sources = await watched();
    return use((room) => syncAllSources(room, sources, request));
  });

  async function readAll(): Promise<void> {
    const sources = await watched();
    const syncing = { signal: new AbortController().signal, report: () => {}, forget: true };
    await index.use((room) => syncAllSources(room, sources, syncing));
  }

  return {
    /** Brings the index up to date with all sources; joins a sync that is under way, or waits for another process. */
    async sync(
      { forget, wait }: { forget: boolean; wait: boolean },
      { signal, report }: CallContext,
    ): Promise<SyncResult> {
      for (;;)
        try {
          return await sharedSync({ signal, report, forget });
        } catch (error) {
          if (!wait || !isWorkcrateError(error, 'index_busy')) throw error;
          report({ waiting: true } satisfies SyncProgress);
          await pause(busyPauseMs, null, { signal });
        }
    },

    /** Indexes one crate that was just written, so that it is found at once; gives its id. */
    async takeIn(
      { source, object }: { source: string; object: string },
      { signal }: CallContext,
    ): Promise<string> {
      const found = (await watched()).find((one) => one.source.url === source);
      const stood = await found?.source.stat(object, signal);
      const place = found && stood ? toCrateLocation(found.source, stood, found.ownerOf) : null;
      if (!found || place === null)
        throw new WorkcrateError('crate_gone', `${object} is no longer in ${source}.`);
      const crate = await readCrate(found.source, place, { maxMetadata, signal });
      await use(({ updater }) => updater.takeAtOnce(crate, signal));
      return place.crateId;
    },

    ...createMetadataCalls(watched),

    /** Removes one crate from the index that was removed from its source. */
    async forget({ source, object }: { source: string; object: string }): Promise<void> {
      const found = (await watched()).find((one) => one.source.url === source);
      if (found) await use(({ updater }) => updater.remove([computeCrateId(found.source, object)]));
    },

    /**
     * Has the local index follow the rows, for a while; it goes on in the background. A file that another thread found
     * damaged is made anew.
     */
    async catchUp({ damaged, maxMs }: { damaged: string; maxMs: number }): Promise<void> {
      if (damaged !== '') local.setAside(damaged);
      const done = use(({ database }) => local.catchUp(database));
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, maxMs);
      try {
        await Promise.race([done, late.promise]);
      } finally {
        clearTimeout(timer);
        done.catch((error: unknown) => log.warn('crates.index_behind', { error }));
      }
    },

    /** Rebuilds rows that another thread has found lost, unless that was done already. */
    async renew({ lost }: { lost: string }): Promise<void> {
      // `use` notices a deleted index by itself.
      if (lost !== '' && identifyIndex(location) === lost) await renewIndex(lost);
      else await use(async () => {});
    },
  };
}

/** The call that parses all of a crate's metadata, which may be large: not where users wait, and one at a time. */
function createMetadataCalls(watched: () => Promise<readonly IndexedSource[]>) {
  const readings = createFairQueue(readingQueueOptions);
  return {
    /** How a crate was made. */
    async readProvenance(
      { viewer, place }: { viewer: string; place: CrateLocation },
      { signal }: CallContext,
    ): Promise<CrateProvenance> {
      const source = demandSource(await watched(), place.source);
      return readings.run({ user: viewer, signal }, async () => {
        await using container = await openCrateContainer(source, place, { signal });
        return readProvenance(readMetadata(await container.metadata(maxGraphMetadata, signal)));
      });
    },
  };
}

/** Of larger metadata no graph is shown: nobody should wait for a page that long. */
const maxGraphMetadata = 32 * 1024 ** 2;

/** How long until it is tried again while another process syncs. */
const busyPauseMs = 500;

/** What is told of a sync: how far it is, or that another process is at it. */
export type SyncProgress = SourceReport | { readonly waiting: true };

export type IndexingMethods = ReturnType<typeof createIndexingWorker>;

interface ViewerRequest<T> {
  readonly viewer: string;
  readonly request: T;
  /** Whether the index had its time to follow the rows: then what is there is searched. */
  readonly isLate?: boolean;
}

/** A fair queue: users take turns. */
const makeQueueOptions = (what: string, most: number, mostOfUser: number): FairQueueOptions => ({
  most,
  mostOfUser,
  mostWaitingOfUser: 50,
  order: 'rotation',
  refusals: {
    busy: (running, queued) =>
      new WorkcrateError(
        'too_many_requests',
        `Too many ${what} are waiting. Of yours, ${running} are running and ${queued} are waiting. Try again later.`,
        { details: { running, queued } },
      ),
    cancelled: ({ reason }) => reason as unknown,
    closed: () => new WorkcrateError('stopping', 'The server is stopping.'),
  },
});

const searchQueueOptions = makeQueueOptions('searches', 16, 4);
/** One at a time: the metadata of a crate may fill much of the memory of the process. */
const readingQueueOptions = makeQueueOptions('graphs of crates', 1, 1);

/** The calls of the thread that searches. It never writes, and no user's searches block those of others. */
export function createSearchingWorker(settings: IndexSettings, log: Log) {
  const queue = createFairQueue(searchQueueOptions);
  const { semantics: provider, endpoint, sourceUrls: sources = null } = settings;
  const openReader = createReaderHolder(settings.file, (database, local) => {
    const meaning = createMeaning(local, { provider, endpoint, log });
    return createIndexReader(database, local, { meaning, sources });
  });
  const index = createIndexHolder(settings.location, async (database) => ({ database }));
  /** Works on what was found up to now if the call is late, and else on all that there are rows of. */
  const read = <T>(isLate: boolean, work: (reader: IndexReader, database: Database) => Promise<T>) =>
    index.use(({ database }) =>
      openReader(database, async (reader) => {
        if (!isLate) await reader.demandCaughtUp();
        return work(reader, database);
      }),
    );
  /** What is found, and that there may soon be more. */
  const readAndNote = <T>(
    { viewer, isLate = false }: ViewerRequest<unknown>,
    work: (reader: IndexReader) => Promise<T>,
  ): Promise<[page: T, notes: string[]]> =>
    read(isLate, async (reader, database) => {
      // Asked first: what is found by a search that began during a sync may lack something.
      const note = await describeSyncUnderWay(database, Date.now());
      const missing = isLate ? await reader.countMissing(viewer) : 0;
      const notes = [...(missing === 0 ? [] : [describeMissing(missing)]), ...(note === null ? [] : [note])];
      return [await work(reader), notes];
    });

  return {
    search: (call: ViewerRequest<SearchRequest>, { signal }: CallContext) =>
      queue.run({ user: call.viewer, signal }, async () => {
        const [page, notes] = await readAndNote(call, (reader) =>
          reader.search(call.viewer, call.request, signal),
        );
        return { ...page, notes: [...page.notes, ...notes] };
      }),
    byEntity: (call: ViewerRequest<EntityRequest>, { signal }: CallContext) =>
      queue.run({ user: call.viewer, signal }, async () => {
        const [page, notes] = await readAndNote(call, (reader) =>
          reader.byEntity(call.viewer, call.request, signal),
        );
        return { ...page, notes };
      }),
    fields: ({ viewer, isLate = false }: ViewerRequest<null>, { signal }: CallContext) =>
      queue.run({ user: viewer, signal }, () => read(isLate, (reader) => reader.fields(viewer, signal))),
    status: ({ viewer, request, isLate = false }: ViewerRequest<StatusRequest>, { signal }: CallContext) =>
      queue.run({ user: viewer, signal }, () => read(isLate, (reader) => reader.status(viewer, request))),
    /** Reads a single row, so it does not wait in the queue. */
    get: ({ viewer, request }: ViewerRequest<string>) =>
      index.use(({ database }) => readCrateRow(database, request, { viewer, sources: toNames(sources) })),
    /** For the server itself: counts crates of all owners. */
    bytesIn: ({ source, owner }: { source: string; owner: string | null | undefined }) =>
      index.use(({ database }) => measureSource(database, source, owner)),
  };
}

const toNames = (sources: readonly string[] | null): ReadonlySet<string> | null =>
  sources === null ? null : new Set(sources);

const describeMissing = (missing: number): string =>
  `${missing} ${missing === 1 ? 'crate is' : 'crates are'} not in the index for searching yet, so more may be found in a moment.`;

export type SearchingMethods = ReturnType<typeof createSearchingWorker>;

/** Where the index is, and the settings of the search by meaning. Plain data, so that it can be sent to threads. */
export interface IndexSettings {
  /** Of the rows of crates: a postgres:// URL, or the path of a SQLite file. */
  readonly location: string;
  /** The local index, made of the rows. */
  readonly file: string;
  readonly semantics: Provider | 'off';
  readonly endpoint: EndpointOptions | null;
  /** The URLs of sources whose crates are found; if left out, all that are in the index. */
  readonly sourceUrls?: readonly string[];
}

export interface IndexingSettings extends IndexSettings {
  readonly sources: readonly ConfiguredSource[];
  readonly maxMetadata: number;
}

interface OpenIndex<T> {
  readonly file: string | null;
  readonly room: T;
  readonly database: Database;
  users: number;
  isRetired: boolean;
}

/**
 * The index of one thread: opened on first use, and reopened if its file was replaced. Work on a damaged or deleted index
 * fails with an error that `getLostIndexFile` recognizes.
 */
function createIndexHolder<T>(location: string, build: (database: Database) => Promise<T>) {
  let opening: Promise<OpenIndex<T>> | null = null;

  async function open(): Promise<OpenIndex<T>> {
    const database = await openDatabase(location, 'crates');
    // Read after opening, since opening creates the file.
    return {
      file: identifyIndex(location),
      room: await build(database),
      database,
      users: 0,
      isRetired: false,
    };
  }

  /** Closes it once nobody uses it. */
  async function retire(opened: OpenIndex<T>): Promise<void> {
    opened.isRetired = true;
    opening = null;
    if (opened.users === 0) await opened.database.close();
  }

  async function current(): Promise<OpenIndex<T>> {
    const before = identifyIndex(location);
    const opened = await (opening ??= open().catch((error: unknown) => {
      opening = null;
      throw isDamagedDatabase(error) ? lostIndexError(error, before) : error;
    }));
    if (opened.isRetired) return current();
    const now = identifyIndex(location);
    if (now === opened.file) return opened;
    await retire(opened);
    if (now === null) throw lostIndexError(null, null);
    return current();
  }

  return {
    async use<R>(work: (room: T) => Promise<R>): Promise<R> {
      let opened = await current();
      while (opened.isRetired) opened = await current();
      opened.users++;
      try {
        return await work(opened.room);
      } catch (error) {
        if (!isDamagedDatabase(error)) throw error;
        await retire(opened);
        throw lostIndexError(error, opened.file);
      } finally {
        if (--opened.users === 0 && opened.isRetired) await opened.database.close();
      }
    },
  };
}

/** The local index of the process that writes it: opened on first use, made anew where it is damaged or deleted. */
function createLocalIndexKeeper({ file, semantics: provider, endpoint }: IndexSettings, log: Log) {
  let opened: { local: LocalIndex; filler: IndexFiller; database: Database; file: string | null } | null =
    null;

  function close(): void {
    opened?.local[Symbol.dispose]();
    opened = null;
  }

  function setAside(damaged: string | null): void {
    if (damaged !== identifyIndex(file)) return;
    close();
    const kept = setIndexAside(file, damaged);
    log.warn('crates.index_renewed', { reason: 'damaged', kept });
  }

  function open(database: Database): IndexFiller {
    if (opened?.database === database && identifyIndex(file) === opened.file) return opened.filler;
    close();
    makeIndexFile(file);
    const local = openLocalIndex(file);
    const filler = createIndexFiller(database, local, createVectorSource(database, { provider, endpoint }));
    opened = { local, filler, database, file: identifyIndex(file) };
    return filler;
  }

  return {
    setAside,
    async catchUp(database: Database, signal?: AbortSignal): Promise<void> {
      const before = identifyIndex(file);
      try {
        await open(database).catchUp(signal);
      } catch (error) {
        if (!isDamagedDatabase(error)) throw error;
        setAside(opened?.file ?? before);
        await open(database).catchUp(signal);
      }
    },
  };
}

/** The local index of the thread that reads it, opened again where its file was replaced. */
function createReaderHolder(file: string, build: (database: Database, local: LocalIndex) => IndexReader) {
  let opened: { local: LocalIndex; reader: IndexReader; database: Database; file: string } | null = null;

  function open(database: Database): IndexReader {
    const now = identifyIndex(file);
    if (opened !== null && opened.database === database && opened.file === now) return opened.reader;
    // What is still reading it fails, and is asked for once more.
    opened?.local[Symbol.dispose]();
    opened = null;
    if (now === null) throw indexBehindError(null, null);
    const local = openLocalIndex(file);
    opened = { local, reader: build(database, local), database, file: now };
    return opened.reader;
  }

  return async function use<T>(database: Database, work: (reader: IndexReader) => Promise<T>): Promise<T> {
    const before = identifyIndex(file);
    try {
      return await work(open(database));
    } catch (error) {
      if (!isDamagedDatabase(error)) throw error;
      throw indexBehindError(error, opened?.file ?? before);
    }
  };
}
