/**
 * Writes what a sync has read as rows, in batches, and has the local index follow. At the end of a sync it asks for what
 * the search by meaning lacks. It reads no sources.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import { isWorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { BrokenCrate, ReadCrate } from '../crate.ts';
import type { CrateRows, SourceState, SummedUp } from '../index/rows.ts';
import { summarizeCrate } from '../metadata/summary.ts';
import type { Embedding } from '../semantic/semantic.ts';
import { ownerNobody, type IndexedSource } from '../sources/sources.ts';

/** A batch is one transaction; a larger one would block other writers for too long. */
const maxBatchCrates = 500;
const maxBatchEntities = 20_000;
/** Some crates have few entities with long texts. */
const maxBatchCharacters = 8_000_000;

/** How long the index keeps a folder that no server reads. */
const maxUnreadMs = 30 * 24 * 3600 * 1000;

export interface IndexUpdaterOptions {
  readonly database: Database;
  readonly rows: CrateRows;
  /** Has the local index follow the rows. */
  readonly catchUp: (signal?: AbortSignal) => Promise<void>;
  readonly embedding: Embedding | null;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is known of a crate when its source is looked at again. */
export interface KnownStamp {
  readonly stamp: string;
  readonly isBroken: boolean;
}

export type IndexUpdater = ReturnType<typeof createIndexUpdater>;

/** Writes what was read in batches, and keeps the search by meaning up to date. */
export function createIndexUpdater({ database, rows, catchUp, embedding, clock, log }: IndexUpdaterOptions) {
  let [read, broken]: [SummedUp[], BrokenCrate[]] = [[], []];
  let [entities, text] = [0, 0];
  /** Another server may have left something to do. */
  let hasChanged = true;

  const summedUp = (crate: ReadCrate): SummedUp => ({
    ...crate,
    summary: JSON.stringify(summarizeCrate(crate, clock())),
  });

  async function flush(): Promise<void> {
    const [crates, faulty] = [read, broken];
    [read, broken, entities, text] = [[], [], 0, 0];
    if (crates.length + faulty.length === 0) return;
    hasChanged = true;
    await rows.put(crates);
    await rows.putBroken(faulty);
    await catchUp();
  }

  /** The search by words must work while an embeddings endpoint is down. */
  function tellOfEmbeddings(error: unknown): void {
    if (!isWorkcrateError(error, 'embeddings_failed')) throw error;
    log.warn('crates.not_embedded', { error });
  }

  /** False if it is postponed, since the embeddings endpoint fails. */
  async function embed(signal: AbortSignal): Promise<boolean> {
    try {
      hasChanged = false;
      await embedding?.embedMissing(signal);
      return true;
    } catch (error) {
      hasChanged = true;
      tellOfEmbeddings(error);
      return false;
    }
  }

  return {
    flush,

    /**
     * What is known of a source's crates, by their ids. A crate whose owner has changed, or that an earlier version of the
     * index has read, gets a stamp that never matches.
     */
    async known({ source, ownerOf }: IndexedSource): Promise<Map<string, KnownStamp>> {
      const known = new Map<string, KnownStamp>();
      for await (const page of rows.known(source.url))
        for (const { crateId, object, stamp, owner, isCurrent, state } of page)
          known.set(crateId, {
            stamp:
              isCurrent && (owner === ownerNobody || owner === ownerOf(object))
                ? stamp
                : `${stamp} of another`,
            isBroken: state === 'broken',
          });
      return known;
    },

    async take(one: { readonly crate: ReadCrate } | { readonly broken: BrokenCrate }): Promise<void> {
      if ('broken' in one) broken.push(one.broken);
      else {
        read.push(summedUp(one.crate));
        entities += one.crate.metadata.entities.length + one.crate.files.length;
        text += countCrateCharacters(one.crate);
      }
      const isFull =
        read.length + broken.length >= maxBatchCrates ||
        entities >= maxBatchEntities ||
        text >= maxBatchCharacters;
      if (isFull) await flush();
    },

    /** Adds one crate at once, so that it is found immediately, even during a sync. */
    async takeAtOnce(crate: ReadCrate, signal: AbortSignal): Promise<void> {
      hasChanged = true;
      await embedding?.embedCrate(crate, signal).catch(tellOfEmbeddings);
      await rows.put([summedUp(crate)]);
      await catchUp();
    },

    async remove(crateIds: readonly string[]): Promise<void> {
      if (crateIds.length === 0) return;
      await rows.remove(crateIds);
      await catchUp();
    },

    note: (source: string, state: SourceState, reason: string | null): Promise<void> =>
      rows.noteSource(source, state, reason),

    /** Removes all other sources from the index. */
    async forgetOthers(sources: readonly string[], signal: AbortSignal): Promise<void> {
      for (const source of await listOtherSources(sources, { database, rows, clock })) {
        signal.throwIfAborted();
        await rows.removeSource(source);
      }
    },

    /** An interrupted sync may have made changes, so `tidyUp` is needed. */
    suspect(): void {
      hasChanged = true;
    },

    /** What is done once at the end of a sync. False if the search by meaning has to wait. */
    async tidyUp(signal: AbortSignal): Promise<boolean> {
      await rows.forgetRemovals();
      const isEmbedded = !hasChanged || (await embed(signal));
      await catchUp(signal);
      return isEmbedded;
    },
  };
}

/**
 * The sources of the index that a sync does not know, and that may go. Where several servers share the index, a folder may
 * be one that only another of them sees: it stays until none of them has read it for a long time.
 */
async function listOtherSources(
  sources: readonly string[],
  { database, rows, clock }: Pick<IndexUpdaterOptions, 'database' | 'rows' | 'clock'>,
): Promise<string[]> {
  const isOfAnotherServer = (source: string, readAt: number | null): boolean =>
    database.isShared && source.startsWith('file:') && (readAt === null || clock() - readAt < maxUnreadMs);
  return (await rows.sources())
    .filter(({ source, readAt }) => !sources.includes(source) && !isOfAnotherServer(source, readAt))
    .map(({ source }) => source);
}

function countCrateCharacters({ metadata }: ReadCrate): number {
  let length = metadata.description.length;
  for (const { properties } of metadata.entities)
    for (const property of properties) length += 'text' in property ? property.text.length : 0;
  return length;
}
