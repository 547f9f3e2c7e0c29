import { WorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { CallContext } from '../../threads/threads.ts';
import { createIndexReader } from '../index/reading.ts';
import { createIndexWriter } from '../index/writing.ts';
import { createFitting } from '../semantic/semantic.ts';
import { crateIdOf, placeOf } from '../sources/sources.ts';
import { createKeeper } from '../sync/keeper.ts';
import { readCrate } from '../sync/read-crate.ts';
import { createTrying, syncAll, type SourceReport } from '../sync/sync.ts';
import { openWatched } from '../sync/watched.ts';
import { identifyIndex, removeLogOfDeletedIndex, setIndexAside } from './index-file.ts';
import { lostIndexOf } from './lost-index.ts';
import { holdIndex } from './open-index.ts';
import type { IndexingSettings } from './settings.ts';

/** What is done in the process that writes to the index. It holds a database and sources of its own. */
export function createIndexing(
  settings: IndexingSettings,
  log: Log,
  { isAfterFailure }: { isAfterFailure: boolean },
) {
  const clock = Date.now;
  const { location, semantics: provider, endpoint, maxMetadata } = settings;
  const watched = lazily(() => openWatched(settings.sources));
  const index = holdIndex(location, async (database) => {
    const reader = createIndexReader(database, null);
    const writer = createIndexWriter(database, { clock });
    const fitting = createFitting(database, { provider, endpoint, clock, log });
    const keeper = createKeeper({ database, writer, reader, fitting, clock, log });
    const trying = createTrying(database, { clock, isAfterFailure });
    return { database, keeper, trying, maxMetadata, clock, log };
  });
  type Room = Parameters<Parameters<typeof index.use>[0]>[0];

  /** Nothing is lost with an index: it is made anew here, once, and the work is done on the new one. */
  async function use<T>(work: (room: Room) => Promise<T>): Promise<T> {
    try {
      return await index.use(work);
    } catch (error) {
      const lost = lostIndexOf(error);
      if (lost === null) throw error;
      await renewIndex(lost);
      return index.use(work);
    }
  }

  async function renewIndex(lost: string): Promise<void> {
    const aside = setIndexAside(location, lost);
    removeLogOfDeletedIndex(location);
    log.warn('crates.index_renewed', { reason: lost === '' ? 'deleted' : 'damaged', kept: aside });
    // Whoever found it lost does not wait until all sources have been read again.
    void readAll().catch((error: unknown) => log.error('crates.sync_failed', { error }));
  }

  async function readAll(): Promise<void> {
    const sources = await watched();
    const syncing = { signal: new AbortController().signal, report: () => {}, forget: true };
    await index.use((room) => syncAll(room, sources, syncing));
  }

  return {
    /** Brings the index up to date with all sources. */
    async sync({ forget }: { forget: boolean }, { signal, report }: CallContext): Promise<SourceReport[]> {
      const sources = await watched();
      return use((room) => syncAll(room, sources, { signal, report, forget }));
    },

    /** Reads one crate that was just written, so that it is found at once; gives its id. */
    async takeIn(
      { source, object }: { source: string; object: string },
      { signal }: CallContext,
    ): Promise<string> {
      const found = (await watched()).find((one) => one.source.url === source);
      const stood = await found?.source.stat(object, signal);
      const place = found && stood ? placeOf(found.source, stood, found.ownerOf) : null;
      if (!found || place === null)
        throw new WorkcrateError('crate_gone', `${object} is not in ${source} any more.`);
      const crate = await readCrate(found.source, place, { maxMetadata, signal });
      await use(({ keeper }) => keeper.takeAtOnce(crate, signal));
      return place.crateId;
    },

    /** Takes one crate out that has been removed from its source. */
    async forget({ source, object }: { source: string; object: string }): Promise<void> {
      const found = (await watched()).find((one) => one.source.url === source);
      if (found) await use(({ keeper }) => keeper.remove([crateIdOf(found.source, object)]));
    },

    /** Makes the index anew that somebody else has found lost, unless that has been done. */
    async renew({ lost }: { lost: string }): Promise<void> {
      // One that is deleted is noticed by whoever uses it.
      if (lost !== '' && identifyIndex(location) === lost) await renewIndex(lost);
      else await use(async () => {});
    },
  };
}

/** Does it once; again after a failure. */
function lazily<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | null = null;
  return () =>
    (done ??= work().catch((error: unknown) => {
      done = null;
      throw error;
    }));
}

export type IndexingMethods = ReturnType<typeof createIndexing>;
