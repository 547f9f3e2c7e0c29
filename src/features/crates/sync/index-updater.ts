/**
 * Writes what a sync has read to the index, in batches, and tidies up after many changes: merges segments and refits the
 * search by meaning. It reads no sources, and takes a lease for merging only.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import { isWorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { BrokenCrate, ReadCrate } from '../crate.ts';
import type { IndexReader } from '../index/reading.ts';
import type { IndexWriter, SourceState, SummedUp } from '../index/writing.ts';
import { summarizeCrate } from '../metadata/summary.ts';
import type { Fitting } from '../semantic/semantic.ts';
import { acquireSyncLease } from './lease.ts';
import { ownerNobody, type IndexedSource } from '../sources/sources.ts';

/** A batch is one transaction; a larger one would block other writers for too long. */
const maxBatchCrates = 500;
const maxBatchEntities = 20_000;
/** Some crates have few entities with long texts. */
const maxBatchCharacters = 8_000_000;

/** Each crate that is added by itself is a segment of its own, and every search reads all segments. */
const maxUnmergedSegments = 16;

/** How long the index keeps a folder that no server reads. */
const maxUnreadMs = 30 * 24 * 3600 * 1000;

export interface IndexUpdaterOptions {
  readonly database: Database;
  readonly writer: IndexWriter;
  readonly reader: Pick<IndexReader, 'documents' | 'documentOf'>;
  readonly fitting: Fitting;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is known of a crate when its source is looked at again. */
export interface KnownStamp {
  readonly stamp: string;
  readonly isBroken: boolean;
}

export type IndexUpdater = ReturnType<typeof createIndexUpdater>;

/** Writes what was read to the index in batches, and keeps the search by meaning up to date. */
export function createIndexUpdater({ database, writer, reader, fitting, clock, log }: IndexUpdaterOptions) {
  let [read, broken]: [SummedUp[], BrokenCrate[]] = [[], []];
  let [entities, text, hasChanged] = [0, 0, false];
  let unmerged = 0;

  /** One process at a time: if another is merging, this one leaves it to that. */
  async function merge(signal: AbortSignal): Promise<void> {
    unmerged = 0;
    await using lease = await acquireSyncLease(database, 'merge', clock);
    if (lease === null) return;
    const until = AbortSignal.any([signal, lease.lost]);
    while (await writer.merge(until)) until.throwIfAborted();
    await lease.finish();
  }

  const summedUp = (crate: ReadCrate): SummedUp => ({
    ...crate,
    summary: JSON.stringify(summarizeCrate(crate, clock())),
  });

  async function flush(): Promise<void> {
    const [crates, faulty] = [read, broken];
    [read, broken, entities, text] = [[], [], 0, 0];
    if (crates.length + faulty.length === 0) return;
    hasChanged = true;
    await writer.put(crates);
    await writer.putBroken(faulty);
  }

  /** The search by words must work while an embeddings endpoint is down. */
  function tellOfEmbeddings(error: unknown): void {
    if (!isWorkcrateError(error, 'embeddings_failed')) throw error;
    log.warn('crates.not_embedded', { error });
  }

  /** False if it is postponed: another process is refitting, or the embeddings endpoint fails. */
  async function refit(signal: AbortSignal): Promise<boolean> {
    try {
      hasChanged = false;
      await fitting.refit(() => reader.documents(), signal);
      return true;
    } catch (error) {
      hasChanged = true;
      if (isWorkcrateError(error, 'index_busy')) return false;
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
      for await (const page of writer.known(source.url))
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
      await writer.put([summedUp(crate)]);
      const document = await reader.documentOf(crate.place.crateId);
      if (document !== null) await fitting.add([document]).catch(tellOfEmbeddings);
      if (++unmerged >= maxUnmergedSegments) await merge(signal);
    },

    async remove(crateIds: readonly string[]): Promise<void> {
      if (crateIds.length === 0) return;
      hasChanged = true;
      await writer.remove(crateIds);
    },

    note: (source: string, state: SourceState, reason: string | null): Promise<void> =>
      writer.noteSource(source, state, reason),

    /** Removes all other sources from the index. */
    async forgetOthers(sources: readonly string[], signal: AbortSignal): Promise<void> {
      for (const source of await listOtherSources(sources, { database, writer, clock })) {
        signal.throwIfAborted();
        hasChanged = true;
        await writer.removeSource(source);
      }
    },

    /** An interrupted sync may have made changes, so `tidyUp` is needed. */
    suspect(): void {
      hasChanged = true;
    },

    /**
     * What is done once after many changes: merging segments and refitting the search by meaning. False if that is
     * postponed.
     */
    async tidyUp(signal: AbortSignal): Promise<boolean> {
      await merge(signal);
      if (!hasChanged && !(await fitting.needsRefit())) return true;
      return refit(signal);
    },
  };
}

/**
 * The sources of the index that a sync does not know, and that may go. Where several servers share the index, a folder may
 * be one that only another of them sees: it stays until none of them has read it for a long time.
 */
async function listOtherSources(
  sources: readonly string[],
  { database, writer, clock }: Pick<IndexUpdaterOptions, 'database' | 'writer' | 'clock'>,
): Promise<string[]> {
  const isOfAnotherServer = (source: string, readAt: number | null): boolean =>
    database.isShared && source.startsWith('file:') && (readAt === null || clock() - readAt < maxUnreadMs);
  return (await writer.sources())
    .filter(({ source, readAt }) => !sources.includes(source) && !isOfAnotherServer(source, readAt))
    .map(({ source }) => source);
}

function countCrateCharacters({ metadata }: ReadCrate): number {
  let length = metadata.description.length;
  for (const { properties } of metadata.entities)
    for (const property of properties) length += 'text' in property ? property.text.length : 0;
  return length;
}
