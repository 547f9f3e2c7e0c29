import { createFairQueue, type FairQueueOptions } from '../../concurrency/fair-queue.ts';
import { WorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { CallContext } from '../../threads/threads.ts';
import {
  bytesIn,
  createIndexReader,
  type EntityRequest,
  type IndexReader,
  type SearchRequest,
  type StatusRequest,
} from '../index/reading.ts';
import { createMeaning } from '../semantic/semantic.ts';
import { holdIndex } from './open-index.ts';
import type { IndexSettings } from './settings.ts';

interface Of<T> {
  readonly viewer: string;
  readonly request: T;
}

/** Viewers take turns, whatever each of them asks for. */
const searchLimits: FairQueueOptions = {
  most: 16,
  mostOfUser: 4,
  mostWaitingOfUser: 50,
  order: 'rotation',
  refusals: {
    busy: (running, queued) =>
      new WorkcrateError(
        'too_many_requests',
        `Too many searches wait. Of yours, ${running} are under way and ${queued} wait. Try again in a while.`,
        { details: { running, queued } },
      ),
    cancelled: ({ reason }) => reason as unknown,
    closed: () => new WorkcrateError('stopping', 'The server is stopping.'),
  },
};

/** What is done in the thread that searches. Nothing is written here, and nobody's searches keep others from theirs. */
export function createSearching(settings: IndexSettings, log: Log) {
  const queue = createFairQueue(searchLimits);
  const { semantics: provider, endpoint, sourceUrls: sources = null } = settings;
  const index = holdIndex(settings.location, async (database) => {
    const meaning = createMeaning(database, { provider, endpoint, clock: Date.now, log });
    return { database, reader: createIndexReader(database, meaning, { sources }) };
  });
  const read = <T>(work: (reader: IndexReader) => Promise<T>): Promise<T> =>
    index.use(({ reader }) => work(reader));

  return {
    search: ({ viewer, request }: Of<SearchRequest>, { signal }: CallContext) =>
      queue.run({ user: viewer, signal }, () => read((reader) => reader.search(viewer, request, signal))),
    byEntity: ({ viewer, request }: Of<EntityRequest>, { signal }: CallContext) =>
      queue.run({ user: viewer, signal }, () => read((reader) => reader.byEntity(viewer, request, signal))),
    fields: ({ viewer }: Of<null>, { signal }: CallContext) =>
      queue.run({ user: viewer, signal }, () => read((reader) => reader.fields(viewer, signal))),
    status: ({ viewer, request }: Of<StatusRequest>, { signal }: CallContext) =>
      queue.run({ user: viewer, signal }, () => read((reader) => reader.status(viewer, request))),
    /** One row: it waits for no search. */
    get: ({ viewer, request }: Of<string>) => read((reader) => reader.get(viewer, request)),
    /** For the server itself, whoever's crates they are. */
    bytesIn: ({ source, owner }: { source: string; owner: string | null | undefined }) =>
      index.use(({ database }) => bytesIn(database, source, owner)),
  };
}

export type SearchingMethods = ReturnType<typeof createSearching>;
