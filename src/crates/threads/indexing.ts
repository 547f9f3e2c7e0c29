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
import { openIndex } from './open-index.ts';
import type { IndexingSettings } from './settings.ts';

/** What is done in the process that writes to the index. It holds a database and sources of its own. */
export function createIndexing(
  settings: IndexingSettings,
  log: Log,
  { isAfterFailure }: { isAfterFailure: boolean },
) {
  const clock = Date.now;
  let opened: ReturnType<typeof open> | null = null;

  async function open() {
    const { semantics: provider, endpoint, maxMetadata } = settings;
    const database = await openIndex(settings.location);
    const reader = createIndexReader(database, null);
    const writer = createIndexWriter(database, { clock });
    const fitting = createFitting(database, { provider, endpoint, clock, log });
    const keeper = createKeeper({ writer, reader, fitting, clock, log });
    const trying = createTrying(database, { clock, isAfterFailure });
    return {
      database,
      keeper,
      trying,
      maxMetadata,
      clock,
      log,
      watched: await openWatched(settings.sources),
    };
  }

  const room = (): ReturnType<typeof open> =>
    (opened ??= open().catch((error: unknown) => {
      opened = null;
      throw error;
    }));

  return {
    /** Brings the index up to date with all sources. */
    async sync({ forget }: { forget: boolean }, { signal, report }: CallContext): Promise<SourceReport[]> {
      const { watched, ...rest } = await room();
      return syncAll(rest, watched, { signal, report, forget });
    },

    /** Reads one crate that was just written, so that it is found at once; gives its id. */
    async takeIn(
      { source, object }: { source: string; object: string },
      { signal }: CallContext,
    ): Promise<string> {
      const { watched, keeper, maxMetadata } = await room();
      const found = watched.find((one) => one.source.url === source);
      const stood = await found?.source.stat(object, signal);
      const place = found && stood ? placeOf(found.source, stood, found.ownerOf) : null;
      if (!found || place === null)
        throw new WorkcrateError('crate_gone', `${object} is not in ${source} any more.`);
      await keeper.takeAtOnce(await readCrate(found.source, place, { maxMetadata, signal }));
      return place.crateId;
    },

    /** Takes one crate out that has been removed from its source. */
    async forget({ source, object }: { source: string; object: string }): Promise<void> {
      const { keeper } = await room();
      await keeper.remove([crateIdOf(source, object)]);
    },
  };
}

export type IndexingMethods = ReturnType<typeof createIndexing>;
