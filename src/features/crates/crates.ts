/**
 * The door of crates: search, read, share and sync for a caller. It starts the process that writes the index and the
 * thread that searches it, and has a lost index rebuilt. It does not touch the index itself (`workers/` does), checks no
 * permissions beyond what the index lets a viewer see, and writes no crates: `features/packing/` does.
 */
import { extname } from 'node:path';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Files } from '../../core/files/files.ts';
import type { Caller } from '../../core/identity.ts';
import type { Links } from '../../core/links/links.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Source } from '../../ports/storage/source.ts';
import { createHelperProcess, createThread, type Thread } from '../../platform/workers/workers.ts';
import type { CrateLocation } from './crate.ts';
import { createCrateContents } from './contents/contents.ts';
import type { EntityRequest, SearchRequest, StatusRequest } from './index/reading.ts';
import { crateSummarySchema, type CrateSummary } from './metadata/summary.ts';
import type { SyncResult } from './sync/shared-sync.ts';
import { getBehindIndexFile } from './index/local-index.ts';
import { getLostIndexFile, identifyIndex, removeLogOfDeletedIndex } from './workers/lost-index.ts';
import type { IndexingMethods, IndexingSettings, SearchingMethods, SyncProgress } from './workers/workers.ts';

export { createExternalCrateTargets } from './contents/copies.ts';
export { openIndexedSources, type ConfiguredSource } from './sources/sources.ts';
export type { SourceReport } from './sync/sync.ts';
export type { IndexingSettings, SyncProgress } from './workers/workers.ts';

export interface CratesOptions {
  /** For the threads that write to the index and search it. */
  readonly settings: IndexingSettings;
  /** The sources, opened in this thread. */
  readonly sources: readonly Source[];
  readonly files: Pick<Files, 'add' | 'maxFileSize' | 'demandQuota'>;
  readonly links: Pick<Links, 'share' | 'shareExternalTarget'>;
  /** The largest crate that is sent as bytes. */
  readonly mostBytes: number;
  readonly log: Log;
}

export interface CrateSyncOptions {
  readonly signal: AbortSignal;
  report(progress: SyncProgress): void;
  /** Whether to remove sources from the index that the settings no longer name; default: they stay. */
  readonly forget?: boolean;
  /** Whether to wait while another process syncs; default: `index_busy`. */
  readonly wait?: boolean;
}

export type Crates = ReturnType<typeof createCrates>;

export function createCrates(options: CratesOptions) {
  const { settings, log } = options;
  // This must be done before anything opens the index.
  for (const file of [settings.location, settings.file]) removeLogOfDeletedIndex(file);
  const [writer, reader] = [toWorkerUrl('indexing-thread'), toWorkerUrl('searching-thread')];
  const indexing: Thread<IndexingMethods> = createHelperProcess(writer, settings, log);
  const searching: Thread<SearchingMethods> = createThread(reader, settings, log);
  /**
   * Queries the index. Rows that are lost are read again first, and an index that lacks some gets a moment to follow them:
   * a call that is late searches what is there.
   */
  async function ask<T>(call: (isLate: boolean) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let [isLate, isRenewed] = [false, false]; ;)
      try {
        return await call(isLate);
      } catch (error) {
        const [lost, damaged] = [getLostIndexFile(error), getBehindIndexFile(error)];
        if (lost !== null && !isRenewed) {
          isRenewed = true;
          await indexing.call('renew', { lost }, { signal });
        } else if (damaged !== null && !isLate) {
          isLate = true;
          await indexing.call('catchUp', { damaged, maxMs: maxCatchUpMs }, { signal });
        } else throw error;
      }
  }
  const isForSeveral = settings.sources.some(({ packsOf }) => packsOf === 'several');
  const packUrls = listPackUrls(options);

  async function find({ user: viewer }: Caller, crateId: string, signal: AbortSignal) {
    const found = await ask(() => searching.call('get', { viewer, request: crateId }, { signal }), signal);
    if (found !== null) return found;
    throw new WorkcrateError(
      'not_found',
      'There is no crate with this id. search_index shows which there are.',
    );
  }

  const findPlace: FindPlace = async (...given) => (await find(...given)).place;

  return {
    sourceUrls: options.sources.map(({ url }) => url),
    /** Whether crates are read over a network. */
    hasRemoteSources: options.sources.some(({ kind }) => kind !== 'folder'),
    /** Whether queries, and texts of crates, are sent to an embeddings API. */
    usesEmbeddingsApi: settings.semantics === 'endpoint',
    /** Whether there are several users, each with private crates. */
    isForSeveral,

    /** Whether there is an index. A server without crates has none, and starts no thread to find nothing. */
    isIndexed: (): boolean => identifyIndex(settings.location) !== null,

    search: ({ user: viewer }: Caller, request: SearchRequest, signal: AbortSignal) =>
      ask((isLate) => searching.call('search', { viewer, request, isLate }, { signal }), signal),

    byEntity: ({ user: viewer }: Caller, request: EntityRequest, signal: AbortSignal) =>
      ask((isLate) => searching.call('byEntity', { viewer, request, isLate }, { signal }), signal),

    fields: ({ user: viewer }: Caller, signal: AbortSignal) =>
      ask((isLate) => searching.call('fields', { viewer, request: null, isLate }, { signal }), signal),

    status: ({ user: viewer }: Caller, request: StatusRequest, signal: AbortSignal) =>
      ask((isLate) => searching.call('status', { viewer, request, isLate }, { signal }), signal),

    /** What is known of a crate; `not_found` if there is none that the caller may see. */
    async get(caller: Caller, crateId: string, signal: AbortSignal): Promise<CrateSummary> {
      return crateSummarySchema.parse(JSON.parse((await find(caller, crateId, signal)).summary));
    },

    inside: createCrateContents({
      ...options,
      sourceOf: (url) => options.sources.find((source) => source.url === url) ?? null,
      find: findPlace,
    }),

    /** Where a crate is; `not_found` if there is none that the caller may see. */
    locate: findPlace,

    /** The actions of a crate, with what they used and made. */
    async readProvenance(caller: Caller, crateId: string, signal: AbortSignal) {
      const place = await findPlace(caller, crateId, signal);
      return indexing.call('readProvenance', { viewer: caller.user, place }, { signal });
    },

    /** Brings the index up to date, or joins a sync that is under way here. */
    sync: ({ signal, report, forget = false, wait = false }: CrateSyncOptions): Promise<SyncResult> =>
      indexing.call('sync', { forget, wait }, { signal, report }),

    /** How much is packed, as far as the index knows: of one owner, of everybody (null), or in total (undefined). */
    packedBytes: (owner?: string | null) =>
      // With a single user, all crates belong to everybody.
      ask(() => countPacked(searching, packUrls, owner === undefined || isForSeveral ? owner : null)),

    /** Whether users have private crates there. Others must not even learn how many. */
    isOfSeveral: (source: string): boolean => isForSeveral && packUrls.includes(source),

    /** Indexes one crate that was just written, so that it is found at once; gives its id. */
    takeIn: (written: { source: string; object: string }, signal: AbortSignal): Promise<string> =>
      indexing.call('takeIn', written, { signal }),

    /** Removes one crate from the index that was removed from its source. */
    forget: (removed: { source: string; object: string }, signal: AbortSignal): Promise<void> =>
      indexing.call('forget', removed, { signal }),

    async [Symbol.asyncDispose](): Promise<void> {
      await indexing[Symbol.asyncDispose]();
      await searching[Symbol.asyncDispose]();
    },
  };
}

/** How long a search waits for the index to follow the rows. */
const maxCatchUpMs = 2000;

/** Where crates are packed to, and where they were before. The settings are in the order of the sources. */
const listPackUrls = ({ settings, sources }: CratesOptions): string[] =>
  sources.filter((_, at) => settings.sources[at]!.packsOf !== null).map(({ url }) => url);

async function countPacked(
  searching: Thread<SearchingMethods>,
  urls: readonly string[],
  owner: string | null | undefined,
) {
  const total = { bytes: 0, crates: 0 };
  for (const source of urls) {
    const { bytes, crates } = await searching.call('bytesIn', { source, owner });
    total.bytes += bytes;
    total.crates += crates;
  }
  return total;
}

type FindPlace = (caller: Caller, crateId: string, signal: AbortSignal) => Promise<CrateLocation>;

/** Works both from the TypeScript sources and from a build. */
const toWorkerUrl = (name: string): URL =>
  new URL(`./workers/${name}${extname(import.meta.filename)}`, import.meta.url);
