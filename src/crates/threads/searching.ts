import { openDatabase } from '../../database/open.ts';
import type { Log } from '../../log.ts';
import { bytesIn, createIndexReader, type EntityRequest, type SearchRequest } from '../index/reading.ts';
import { createMeaning } from '../semantic/semantic.ts';
import type { IndexSettings } from './settings.ts';

interface Of<T> {
  readonly viewer: string;
  readonly request: T;
}

/** What is done in the thread that searches. Nothing is written here. */
export function createSearching(settings: IndexSettings, log: Log) {
  let opened: ReturnType<typeof open> | null = null;

  async function open() {
    const { semantics: provider, endpoint } = settings;
    const database = await openDatabase(settings.location, 'crates');
    const meaning = createMeaning(database, { provider, endpoint, clock: Date.now, log });
    return { database, reader: createIndexReader(database, meaning) };
  }

  const room = (): ReturnType<typeof open> =>
    (opened ??= open().catch((error: unknown) => {
      opened = null;
      throw error;
    }));
  const reader = async () => (await room()).reader;

  return {
    search: async ({ viewer, request }: Of<SearchRequest>) => (await reader()).search(viewer, request),
    byEntity: async ({ viewer, request }: Of<EntityRequest>) => (await reader()).byEntity(viewer, request),
    fields: async ({ viewer }: Of<null>) => (await reader()).fields(viewer),
    get: async ({ viewer, request }: Of<string>) => (await reader()).get(viewer, request),
    status: async ({ viewer, request }: Of<{ limit: number; offset: number }>) =>
      (await reader()).status(viewer, request),
    /** For the server itself, whoever's crates they are. */
    bytesIn: async ({ source, owner }: { source: string; owner: string | null | undefined }) =>
      bytesIn((await room()).database, source, owner),
  };
}

export type SearchingMethods = ReturnType<typeof createSearching>;
