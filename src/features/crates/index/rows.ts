/**
 * The rows of crates in the database: the truth, which the index of each server is made of. Every change has the next
 * number of one sequence, so that an index knows what it lacks. It decides neither what to read (`sync/` does) nor who
 * finds what.
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queries, SqlValue } from '../../../ports/database/database.ts';
import { WorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import type { BrokenCrate, CrateKind, CrateLocation, CrateMetadata, ReadCrate } from '../crate.ts';
import {
  parseShownTexts,
  selectShownTexts,
  toIndexable,
  type CrateContent,
  type ShownCrate,
  type ShownTexts,
} from './texts.ts';

/** What is known of a crate when its source is looked at again. */
export interface KnownCrate {
  readonly crateId: string;
  readonly object: string;
  readonly stamp: string;
  readonly owner: string | null;
  readonly state: 'ok' | 'broken';
  /** False where an earlier version has read it. */
  readonly isCurrent: boolean;
}

/**
 * Raise it whenever other words, dates or facets of the same crate are to be stored: every crate is then read again at the
 * next sync, and found as it was before until that is done.
 */
const rowVersion = 2;

export type SourceState = 'syncing' | 'ok' | 'unreachable' | 'failed';

/** A crate with what `get_crate` is to give of it, as JSON. */
export type SummedUp = ReadCrate & { readonly summary: string };

/** Changes the rows. Each call is whole or not at all. */
export interface CrateRows {
  /** Puts crates in, in place of what was there under their ids. One transaction: keep a batch to some hundreds. */
  put(batch: readonly SummedUp[]): Promise<void>;
  putBroken(batch: readonly BrokenCrate[]): Promise<void>;
  remove(crateIds: readonly string[]): Promise<void>;
  /** Has every server index these crates once more. */
  touch(crateIds: readonly string[]): Promise<void>;
  /** Pages of what is known of a source. */
  known(source: string): AsyncIterable<readonly KnownCrate[]>;
  noteSource(source: string, state: SourceState, reason: string | null): Promise<void>;
  /** Every source that there are rows of, and when a server that keeps it up to date last read it. */
  sources(): Promise<{ source: string; readAt: number | null }[]>;
  /** Removes a source with all its crates. */
  removeSource(source: string): Promise<void>;
  /** No longer lists removals that every index has surely seen. */
  forgetRemovals(): Promise<void>;
}

const maxRowsAtOnce = 1000;
/** An index that was not used for longer is made anew. */
const removalsKeptMs = 30 * 24 * 3600 * 1000;

export function createCrateRows(database: Database, { clock }: { clock: Clock }): CrateRows {
  const remove = async (ids: readonly string[]): Promise<void> => {
    for (let at = 0; at < ids.length; at += maxRowsAtOnce)
      await database.transaction((tx) => removeCrates(tx, ids.slice(at, at + maxRowsAtOnce), clock()));
  };
  const known = (source: string) => listKnownCrates(database, source);
  const replace = async (
    batch: readonly Placed[],
    makeRows: (now: number) => SqlValue[][],
  ): Promise<void> => {
    if (batch.length === 0) return;
    const rows = makeRows(clock());
    await database.transaction((tx) => replaceRows(tx, rows));
  };

  return {
    put: async (batch) => {
      const crates = keepLastOfEach(batch);
      await replace(crates, (now) => crates.map((crate) => toRow(crate, now)));
    },
    putBroken: async (batch) => {
      const broken = keepLastOfEach(batch);
      await replace(broken, (now) => broken.map((one) => toBrokenRow(one, now)));
    },
    remove,
    async touch(crateIds) {
      for (let at = 0; at < crateIds.length; at += maxRowsAtOnce)
        await database.transaction(async (tx) => {
          const some = crateIds.slice(at, at + maxRowsAtOnce);
          let next = await reserveNumbers(tx, some.length);
          for (const id of some)
            await tx.query('UPDATE crates SET sequence = ? WHERE crate_id = ?', next++, id);
        });
    },
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
    async forgetRemovals() {
      await database.transaction((tx) => forgetOldRemovals(tx, clock() - removalsKeptMs));
    },
  };
}

interface Placed {
  readonly place: { readonly crateId: string };
}

/** The same crate twice in a batch is the later one. */
function keepLastOfEach<T extends Placed>(batch: readonly T[]): T[] {
  return [...new Map(batch.map((crate) => [crate.place.crateId, crate])).values()];
}

/** Locks out other writers until the transaction ends, and gives the first of so many numbers. */
async function reserveNumbers(tx: Queries, count: number): Promise<number> {
  const [row] = await tx.query<{ sequence: number }>(
    'UPDATE crate_sequence SET sequence = sequence + ? WHERE only_one = 1 RETURNING sequence',
    count,
  );
  return row!.sequence - count + 1;
}

const rowColumns =
  'crate_id, source, kind, object, locator, owner, stamp, size, modified, root, title, description, shown, summary, ' +
  'content, state, code, reason, indexed_at, index_version, sequence';

async function replaceRows(tx: Queries, rows: readonly SqlValue[][]): Promise<void> {
  const first = await reserveNumbers(tx, rows.length);
  const ids = rows.map(([crateId]) => crateId as string);
  for (const table of ['crates', 'crate_removals'] as const)
    await inPortions(ids, async (some) => {
      await tx.query(`DELETE FROM ${table} WHERE crate_id IN (${makeMarks(some.length)})`, ...some);
    });
  await insertRows(
    tx,
    `crates (${rowColumns})`,
    rows.map((row, at) => [...row, first + at]),
  );
}

/** Only of those that are there, so that an index hears of nothing it never had. */
async function removeCrates(tx: Queries, ids: readonly string[], now: number): Promise<void> {
  let next = await reserveNumbers(tx, ids.length);
  await inPortions(ids, async (some) => {
    const removed = await tx.query<{ crate_id: string }>(
      `DELETE FROM crates WHERE crate_id IN (${makeMarks(some.length)}) RETURNING crate_id`,
      ...some,
    );
    const rows = removed.map(({ crate_id }) => [crate_id, next++, now]);
    await insertRows(tx, 'crate_removals (crate_id, sequence, removed_at)', rows);
  });
}

async function forgetOldRemovals(tx: Queries, before: number): Promise<void> {
  await reserveNumbers(tx, 0);
  const gone = await tx.query<{ sequence: number }>(
    'DELETE FROM crate_removals WHERE removed_at < ? RETURNING sequence',
    before,
  );
  const last = gone.reduce((max, { sequence }) => Math.max(max, sequence), 0);
  if (last > 0) await tx.query('UPDATE crate_sequence SET forgotten = ? WHERE forgotten < ?', last, last);
}

const toPlaceValues = (place: CrateLocation): SqlValue[] => [
  place.crateId,
  place.source,
  place.kind,
  place.object,
  place.locator,
  place.owner,
  place.stamp,
  place.size,
  Math.round(place.modified),
];

function toRow(crate: SummedUp, now: number): SqlValue[] {
  const { title, description } = crate.metadata;
  const shown = JSON.stringify(selectShownTexts(crate));
  const texts = [crate.root, title, description, shown, crate.summary].map(toIndexable);
  return [...toPlaceValues(crate.place), ...texts, packContent(crate), 'ok', null, null, now, rowVersion];
}

function toBrokenRow({ place, code, reason }: BrokenCrate, now: number): SqlValue[] {
  const why = ['broken', code, toIndexable(reason), now, rowVersion];
  return [...toPlaceValues(place), '', '', '', '{}', '{}', null, ...why];
}

/** What is indexed of a crate beyond the columns of its row. */
type PackedContent = Omit<CrateMetadata, 'title' | 'description' | 'issues'> & {
  readonly files: readonly string[];
};

function packContent({ metadata, files }: CrateContent): Uint8Array {
  const { title: _title, description: _description, issues: _issues, ...rest } = metadata;
  const packed: PackedContent = { ...rest, files };
  return zstdCompressSync(JSON.stringify(packed));
}

async function* listKnownCrates(database: Database, source: string): AsyncGenerator<readonly KnownCrate[]> {
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
       ORDER BY crate_id LIMIT ${maxRowsAtOnce}`,
      source,
      after,
    );
    if (page.length === 0) return;
    yield page.map(({ crate_id, index_version, ...rest }) => ({
      crateId: crate_id,
      ...rest,
      isCurrent: index_version === rowVersion,
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
    reason === null ? null : toIndexable(reason),
    isStart ? now : null,
    isStart ? null : now,
  );
}

/** How far the rows are, and up to where removals are no longer listed. */
export async function readSequence(queries: Queries): Promise<{ sequence: number; forgotten: number }> {
  const [row] = await queries.query<{ sequence: number; forgotten: number }>(
    'SELECT sequence, forgotten FROM crate_sequence WHERE only_one = 1',
  );
  return row!;
}

/** A row that changed after an index was made of it. */
export interface CrateChange {
  readonly crateId: string;
  /** Null where there is nothing to find: it was removed, or could not be read. */
  readonly crate: CrateContent | null;
  /** The text by which it is told to be alike to others. */
  readonly shown: ShownCrate | null;
}

export interface CrateChanges {
  readonly changes: readonly CrateChange[];
  /** All changes up to this number are among them. */
  readonly upTo: number;
}

const maxChangesAtOnce = 500;
/** Compressed, of crates that are read together; a larger one is read alone. */
const maxContentAtOnce = 2_000_000;

/** The next changes after a number; null if there are none. */
export async function listChanges(queries: Queries, after: number): Promise<CrateChanges | null> {
  const { sequence } = await readSequence(queries);
  if (sequence <= after) return null;
  const rows = await queries.query<{ crate_id: string; sequence: number; size: number | null }>(
    `SELECT crate_id, sequence, LENGTH(content) AS size FROM crates WHERE sequence > ? AND sequence <= ?
     ORDER BY sequence LIMIT ${maxChangesAtOnce}`,
    after,
    sequence,
  );
  const taken: typeof rows = [];
  for (let [at, size] = [0, 0]; at < rows.length; at++) {
    if (at > 0 && (size += rows[at]!.size ?? 0) > maxContentAtOnce) break;
    taken.push(rows[at]!);
  }
  const isAll = taken.length === rows.length && rows.length < maxChangesAtOnce;
  const upTo = isAll ? sequence : taken.at(-1)!.sequence;
  const removed = await queries.query<{ crate_id: string }>(
    'SELECT crate_id FROM crate_removals WHERE sequence > ? AND sequence <= ?',
    after,
    upTo,
  );
  const changes = removed.map(({ crate_id: crateId }): CrateChange => ({
    crateId,
    crate: null,
    shown: null,
  }));
  await inPortions(
    taken.map(({ crate_id }) => crate_id),
    async (ids) => void changes.push(...(await readChangedCrates(queries, ids, upTo))),
  );
  return { changes, upTo };
}

type ContentRow = PlaceRow &
  ShownCrate & { state: 'ok' | 'broken'; summary: string; content: Uint8Array | null };

/** A row that has changed once more has a later number, and comes again. */
async function readChangedCrates(
  queries: Queries,
  ids: readonly string[],
  upTo: number,
): Promise<CrateChange[]> {
  const rows = await queries.query<ContentRow>(
    `SELECT ${placeColumns}, title, description, shown, summary, content, state FROM crates
     WHERE crate_id IN (${makeMarks(ids.length)}) AND sequence <= ? ORDER BY sequence`,
    ...ids,
    upTo,
  );
  return rows.map((row) => {
    if (row.state === 'broken') return { crateId: row.crate_id, crate: null, shown: null };
    const { title, description, shown } = row;
    return { crateId: row.crate_id, crate: unpackContent(row), shown: { title, description, shown } };
  });
}

function unpackContent(row: ContentRow): CrateContent {
  const { title, description } = row;
  const place = toCrateLocation(row);
  if (row.content === null) return restoreContent(row, place);
  const { files, ...rest } = JSON.parse(zstdDecompressSync(row.content).toString()) as PackedContent;
  return { place, files, metadata: { ...rest, title, description, issues: [] } };
}

/** Of a row that was written before contents were kept: what it shows is found until the crate is read again. */
function restoreContent(row: ContentRow, place: CrateLocation): CrateContent {
  const shown: ShownTexts = parseShownTexts(row);
  const summary = JSON.parse(row.summary) as {
    license?: CrateMetadata['license'];
    date_published?: string | null;
    spec_version?: string | null;
    profiles?: string[];
    types?: { type: string }[];
  };
  const typed = (summary.types ?? []).map(({ type }) => ({ id: '', types: [type], properties: [] }));
  const named = (shown.entity ?? []).map((name) => ({
    id: '',
    types: [],
    properties: [{ name: 'name', text: name }],
  }));
  const metadata: CrateMetadata = {
    title: row.title,
    description: row.description,
    authors: shown.author ?? [],
    keywords: shown.keyword ?? [],
    license: summary.license ?? null,
    published: summary.date_published ?? null,
    year: shown.year ?? null,
    identifiers: shown.identifier ?? [],
    spec: summary.spec_version ?? null,
    profiles: summary.profiles ?? [],
    rootId: './',
    entities: [...typed, ...named],
    issues: [],
  };
  return { place, files: shown.file ?? [], metadata };
}

/** Whose crates are counted and shown: what is for all and what is the viewer's own, from the sources that are named. */
export interface Viewing {
  readonly viewer: string;
  /** Null for all. */
  readonly sources: ReadonlySet<string> | null;
}

const toViewSql = ({ viewer, sources }: Viewing): { sql: string; values: SqlValue[] } => {
  const from = limitToSources(sources);
  return { sql: `(owner IS NULL OR owner = ?) ${from.sql}`, values: [viewer, ...from.values] };
};

/** How many crates that may be seen an index lacks that is as far as a number. */
export async function countMissing(queries: Queries, after: number, viewing: Viewing): Promise<number> {
  const { sql, values } = toViewSql(viewing);
  const [row] = await queries.query<{ missing: number }>(
    `SELECT CAST(COUNT(*) AS BIGINT) AS missing FROM crates WHERE sequence > ? AND state = 'ok' AND ${sql}`,
    after,
    ...values,
  );
  return row!.missing;
}

export type ResultRow = ShownCrate & { crate_id: string; locator: string };

/** The rows of crates that may be seen, by their ids. */
export async function readResultRows(
  queries: Queries,
  crateIds: readonly string[],
  viewing: Viewing,
): Promise<Map<string, ResultRow>> {
  const rows = new Map<string, ResultRow>();
  const { sql, values } = toViewSql(viewing);
  await inPortions(crateIds, async (some) => {
    const found = await queries.query<ResultRow>(
      `SELECT crate_id, title, description, locator, shown FROM crates
       WHERE crate_id IN (${makeMarks(some.length)}) AND state = 'ok' AND ${sql}`,
      ...some,
      ...values,
    );
    for (const row of found) rows.set(row.crate_id, row);
  });
  return rows;
}

/** A crate of the index. */
export interface IndexedCrate {
  readonly place: CrateLocation;
  readonly root: string;
  /** JSON, as it was given. */
  readonly summary: string;
}

type GotRow = PlaceRow & {
  root: string;
  summary: string;
  state: 'ok' | 'broken';
  code: ErrorCode;
  reason: string;
};

/** Null where there is none that may be seen; a broken one rejects with what is wrong with it. */
export async function readCrateRow(
  queries: Queries,
  crateId: string,
  viewing: Viewing,
): Promise<IndexedCrate | null> {
  const { sql, values } = toViewSql(viewing);
  const [row] = await queries.query<GotRow>(
    `SELECT ${placeColumns}, root, summary, state, code, reason FROM crates WHERE crate_id = ? AND ${sql}`,
    crateId,
    ...values,
  );
  if (row === undefined) return null;
  if (row.state === 'broken') throw new WorkcrateError(row.code, row.reason);
  return { place: toCrateLocation(row), root: row.root, summary: row.summary };
}

/** How much there is in a source. */
export interface SourceUsage {
  readonly bytes: number;
  readonly crates: number;
}

/** What there are rows of in a source, broken crates too: one owner's, everybody's for null, or all of it. */
export async function measureSource(
  database: Queries,
  source: string,
  owner: string | null | undefined,
): Promise<SourceUsage> {
  const whose = owner === undefined ? '' : owner === null ? 'AND owner IS NULL' : 'AND owner = ?';
  const [usage] = await database.query<{ bytes: number; crates: number }>(
    `SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes, CAST(COUNT(*) AS BIGINT) AS crates
     FROM crates WHERE source = ? ${whose}`,
    source,
    ...(typeof owner === 'string' ? [owner] : []),
  );
  return usage!;
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

const placeColumns = 'crate_id, source, kind, object, locator, owner, stamp, size, modified';

const toCrateLocation = ({ crate_id, ...place }: PlaceRow): CrateLocation => ({
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

/** What is to follow in a condition of SQL, so that crates of these sources alone are found; nothing for null. */
export function limitToSources(sources: ReadonlySet<string> | null): { sql: string; values: string[] } {
  if (sources === null) return { sql: '', values: [] };
  // An empty list is no SQL.
  if (sources.size === 0) return { sql: 'AND 1 = 0', values: [] };
  return { sql: `AND source IN (${makeMarks(sources.size)})`, values: [...sources] };
}

/** As many placeholders. */
export const makeMarks = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

/** Databases take some thousand values in a statement. */
const maxValues = 900;

async function inPortions<T>(all: readonly T[], work: (some: T[]) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += maxValues) await work(all.slice(at, at + maxValues));
}

async function insertRows(tx: Queries, into: string, rows: readonly SqlValue[][]): Promise<void> {
  const width = rows[0]?.length ?? 1;
  const atOnce = Math.max(1, Math.floor(maxValues / width));
  for (let at = 0; at < rows.length; at += atOnce) {
    const some = rows.slice(at, at + atOnce);
    const marks = some.map(() => `(${makeMarks(width)})`).join(', ');
    await tx.query(`INSERT INTO ${into} VALUES ${marks}`, ...some.flat());
  }
}
