/**
 * Writes the inverted index: puts crates in, removes them, and merges segments. Each call is atomic. It decides
 * neither what to read nor when to merge: `sync/` does.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queries, SqlValue } from '../../../ports/database/database.ts';
import type { BrokenCrate, CrateKind, CrateLocation, ReadCrate } from '../crate.ts';
import { batchOf, shownOf, type Batch } from './batch.ts';
import { inPortions, insertRows, marks } from './blocks.ts';
import { encodeReferences } from './entity-index.ts';
import { mergeSome } from './merging.ts';
import { insertBlocks, insertParts } from './segments.ts';

/** What the index knows of a crate when its source is looked at again. */
export interface KnownCrate {
  readonly crateId: string;
  readonly object: string;
  readonly stamp: string;
  readonly owner: string | null;
  readonly state: 'ok' | 'broken';
  /** False where an earlier version of the index has read it. */
  readonly isCurrent: boolean;
}

/**
 * Raise it whenever other words, dates or facets of the same crate are to be stored: every crate is then read again at the
 * next sync, and found as it was before until that is done.
 */
const indexVersion = 1;

export type SourceState = 'syncing' | 'ok' | 'unreachable' | 'failed';

/** Changes the index. Each call is whole or not at all, and readers see it from then on. */
export interface IndexWriter {
  /** Puts crates in, in place of what was there under their ids. One transaction: keep a batch to some hundreds. */
  put(batch: readonly SummedUp[]): Promise<void>;
  putBroken(batch: readonly BrokenCrate[]): Promise<void>;
  remove(crateIds: readonly string[]): Promise<void>;
  /** Pages of what is known of a source. */
  known(source: string): AsyncIterable<readonly KnownCrate[]>;
  noteSource(source: string, state: SourceState, reason: string | null): Promise<void>;
  /** Every source that the index has something of, and when one that keeps it up to date last read it. */
  sources(): Promise<{ source: string; readAt: number | null }[]>;
  /** Takes a source out with all its crates. */
  removeSource(source: string): Promise<void>;
  /** Does one piece of housekeeping; false where there is none left. Cut off, it is begun anew the next time. */
  merge(signal: AbortSignal): Promise<boolean>;
}

const mostAtOnce = 1000;

export function createIndexWriter(database: Database, { clock }: { clock: Clock }): IndexWriter {
  const remove = async (ids: readonly string[]): Promise<void> => {
    for (let at = 0; at < ids.length; at += mostAtOnce) {
      const some = ids.slice(at, at + mostAtOnce);
      await database.transaction(async (tx) =>
        deleteCrates(tx, some, (await nextGeneration(tx, 0, 0)).generation),
      );
    }
  };
  const known = (source: string) => knownPages(database, source);

  return {
    async put(batch) {
      const crates = lastOfEach(batch);
      if (crates.length === 0) return;
      const built = batchOf(crates);
      await database.transaction((tx) => putBatch(tx, crates, built, clock()));
    },
    async putBroken(batch) {
      const broken = lastOfEach(batch);
      if (broken.length === 0) return;
      await database.transaction(async (tx) => {
        const { generation } = await nextGeneration(tx, 0, 0);
        await deleteCrates(tx, idsOf(broken), generation);
        await insertBroken(tx, broken, clock());
      });
    },
    remove,
    known,
    noteSource: (source, state, reason) => noteSource(database, source, state, reason, clock()),
    async sources() {
      const rows = await database.query<{ source: string; read_at: number | null }>(
        `SELECT source, MAX(read_at) AS read_at FROM (
           SELECT source, COALESCE(ended_at, started_at) AS read_at FROM crate_sources
           UNION ALL SELECT DISTINCT source, CAST(NULL AS BIGINT) FROM crates
         ) AS named GROUP BY source`,
      );
      return rows.map(({ source, read_at: readAt }) => ({ source, readAt }));
    },
    async removeSource(source) {
      for await (const page of known(source)) await remove(page.map(({ crateId }) => crateId));
      await database.query('DELETE FROM crate_sources WHERE source = ?', source);
    },
    merge: (signal) => mergeSome(database, clock, signal),
  };
}

type Numbers = { generation: number; next_document: number; next_segment: number };

/** Locks the index for other writers until the transaction ends, and takes numbers for what is to be put in. */
async function nextGeneration(tx: Queries, documents: number, segments: number): Promise<Numbers> {
  const [row] = await tx.query<Numbers>(
    `UPDATE crate_index SET generation = generation + 1, next_document = next_document + ?,
       next_segment = next_segment + ? WHERE id = 1 RETURNING generation, next_document, next_segment`,
    documents,
    segments,
  );
  return row!;
}

async function putBatch(tx: Queries, crates: readonly SummedUp[], batch: Batch, now: number): Promise<void> {
  const count = crates.length;
  const { generation, next_document, next_segment } = await nextGeneration(tx, count, 1);
  const [first, segment] = [next_document - count, next_segment - 1];
  await deleteCrates(tx, idsOf(crates), generation);
  await insertCrates(tx, crates, batch.sortKeys, first, now);
  const row = [segment, 'live', count, first, next_document - 1, batch.list.count, now];
  const into =
    'crate_segments (segment, state, documents, first_document, last_document, blocks, touched_at)';
  await insertRows(tx, into, [row]);
  await insertParts(tx, segment, batch.columns.end(first), batch.list);
  await insertBlocks(tx, segment, batch.blocks);
}

interface Placed {
  readonly place: { readonly crateId: string };
}

const idsOf = (crates: readonly Placed[]): string[] => crates.map(({ place }) => place.crateId);

/** The same crate twice in a batch is the later one. */
function lastOfEach<T extends Placed>(batch: readonly T[]): T[] {
  return [...new Map(batch.map((crate) => [crate.place.crateId, crate])).values()];
}

async function* knownPages(database: Database, source: string): AsyncGenerator<readonly KnownCrate[]> {
  for (let after = ''; ;) {
    const page = await database.query<{
      crate_id: string;
      object: string;
      stamp: string;
      owner: string | null;
      state: 'ok' | 'broken';
      index_version: number;
    }>(
      `SELECT crate_id, object, stamp, owner, state, index_version FROM crates WHERE source = ? AND crate_id > ?
       ORDER BY crate_id LIMIT ${mostAtOnce}`,
      source,
      after,
    );
    if (page.length === 0) return;
    yield page.map(({ crate_id, index_version, ...rest }) => ({
      crateId: crate_id,
      ...rest,
      isCurrent: index_version === indexVersion,
    }));
    after = page.at(-1)!.crate_id;
  }
}

async function noteSource(
  database: Database,
  source: string,
  state: SourceState,
  reason: string | null,
  now: number,
): Promise<void> {
  const isStart = state === 'syncing';
  await database.query(
    `INSERT INTO crate_sources (source, state, reason, started_at, ended_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (source) DO UPDATE SET state = excluded.state, reason = excluded.reason,
       started_at = COALESCE(excluded.started_at, crate_sources.started_at), ended_at = excluded.ended_at`,
    source,
    state,
    reason === null ? null : storable(reason),
    isStart ? now : null,
    isStart ? null : now,
  );
}

/** A crate with what `get_crate` is to give of it, as JSON. */
export type SummedUp = ReadCrate & { readonly summary: string };

const columns =
  'crate_id, document, sort_key, source, kind, object, locator, owner, stamp, size, modified, root, title, ' +
  'description, shown, summary, state, code, reason, indexed_at, index_version';

/** PostgreSQL takes no NUL, and neither keeps half a character. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();

function placeValues({
  crateId,
  source,
  kind,
  object,
  locator,
  owner,
  stamp,
  size,
  modified,
}: CrateLocation) {
  return {
    crateId,
    place: [source, kind, object, locator, owner, stamp, size, Math.round(modified)] as SqlValue[],
  };
}

async function insertCrates(
  tx: Queries,
  crates: readonly SummedUp[],
  sortKeys: readonly Buffer[],
  firstDocument: number,
  now: number,
): Promise<void> {
  const rows = crates.map((crate, at) => {
    const { crateId, place } = placeValues(crate.place);
    const { title, description } = crate.metadata;
    const texts = [crate.root, title, description, JSON.stringify(shownOf(crate)), crate.summary].map(
      storable,
    );
    return [
      crateId,
      firstDocument + at,
      sortKeys[at]!,
      ...place,
      ...texts,
      'ok',
      null,
      null,
      now,
      indexVersion,
    ];
  });
  await insertRows(tx, `crates (${columns})`, rows);
  const references = crates.map(({ metadata }, at) => [
    firstDocument + at,
    encodeReferences(metadata.entities),
  ]);
  await insertRows(tx, 'crate_references (document, bytes)', references);
}

async function insertBroken(tx: Queries, broken: readonly BrokenCrate[], now: number): Promise<void> {
  const rows = broken.map(({ place, code, reason }) => {
    const { crateId, place: values } = placeValues(place);
    const told = ['broken', code, storable(reason), now, indexVersion];
    return [crateId, null, new Uint8Array(0), ...values, '', '', '', '{}', '{}', ...told];
  });
  await insertRows(tx, `crates (${columns})`, rows);
}

/** Takes crates out of the index; their documents are dead from this generation on. */
async function deleteCrates(tx: Queries, ids: readonly string[], generation: number): Promise<void> {
  await inPortions(ids, async (some) => {
    const rows = await tx.query<{ document: number | null }>(
      `DELETE FROM crates WHERE crate_id IN (${marks(some.length)}) RETURNING document`,
      ...some,
    );
    const dead = rows.map(({ document }) => document).filter((document) => document !== null);
    await insertRows(
      tx,
      'crate_dead (document, generation)',
      dead.map((document) => [document, generation]),
    );
    if (dead.length === 0) return;
    await tx.query(`DELETE FROM crate_references WHERE document IN (${marks(dead.length)})`, ...dead);
  });
}

type PlaceRow = {
  crate_id: string;
  source: string;
  kind: CrateKind;
  object: string;
  locator: string;
  owner: string | null;
  stamp: string;
  size: number;
  modified: number;
};

export const placeColumns = 'crate_id, source, kind, object, locator, owner, stamp, size, modified';

export const toCrateLocation = ({ crate_id, ...place }: PlaceRow): CrateLocation => ({
  crateId: crate_id,
  source: place.source,
  kind: place.kind,
  object: place.object,
  locator: place.locator,
  owner: place.owner,
  stamp: place.stamp,
  size: place.size,
  modified: place.modified,
});
export type { PlaceRow };
