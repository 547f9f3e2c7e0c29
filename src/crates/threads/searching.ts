import type { Log } from '../../log.ts';
import type { CallContext } from '../../threads/threads.ts';
import {
  bytesIn,
  createIndexReader,
  type EntityRequest,
  type SearchRequest,
  type StatusRequest,
} from '../index/reading.ts';
import { createMeaning } from '../semantic/semantic.ts';
import { openIndex } from './open-index.ts';
import type { IndexSettings } from './settings.ts';
import { createTurns } from './turns.ts';

interface Of<T> {
  readonly viewer: string;
  readonly request: T;
}

/** What is done in the thread that searches. Nothing is written here, and nobody's searches keep others from theirs. */
export function createSearching(settings: IndexSettings, log: Log) {
  const turns = createTurns();
  let opened: ReturnType<typeof open> | null = null;

  async function open() {
    const { semantics: provider, endpoint, sourceUrls: sources = null } = settings;
    const database = await openIndex(settings.location);
    const meaning = createMeaning(database, { provider, endpoint, clock: Date.now, log });
    return { database, reader: createIndexReader(database, meaning, { sources }) };
  }

  const room = (): ReturnType<typeof open> =>
    (opened ??= open().catch((error: unknown) => {
      opened = null;
      throw error;
    }));
  const reader = async () => (await room()).reader;

  return {
    search: ({ viewer, request }: Of<SearchRequest>, { signal }: CallContext) =>
      turns(viewer, signal, async () => (await reader()).search(viewer, request, signal)),
    byEntity: ({ viewer, request }: Of<EntityRequest>, { signal }: CallContext) =>
      turns(viewer, signal, async () => (await reader()).byEntity(viewer, request, signal)),
    fields: ({ viewer }: Of<null>, { signal }: CallContext) =>
      turns(viewer, signal, async () => (await reader()).fields(viewer, signal)),
    status: ({ viewer, request }: Of<StatusRequest>, { signal }: CallContext) =>
      turns(viewer, signal, async () => (await reader()).status(viewer, request)),
    /** One row: it waits for no search. */
    get: async ({ viewer, request }: Of<string>) => (await reader()).get(viewer, request),
    /** For the server itself, whoever's crates they are. */
    bytesIn: async ({ source, owner }: { source: string; owner: string | null | undefined }) =>
      bytesIn((await room()).database, source, owner),
  };
}

export type SearchingMethods = ReturnType<typeof createSearching>;
