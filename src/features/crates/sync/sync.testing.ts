import type { TestContext } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import type { Database } from '../../../ports/database/database.ts';
import { openDatabase } from '../../../ports/database/open.ts';
import { createLog } from '../../../platform/observability/log.ts';
import type { Source } from '../../../ports/storage/source.ts';
import { archive } from '../../../platform/zip/unzip-archive.testing.ts';
import { createIndexFiller } from '../index/filling.ts';
import { openLocalIndex } from '../index/local-index.ts';
import { createIndexReader, type IndexReader, type IndexStatus } from '../index/reading.ts';
import { createCrateRows, type CrateRows } from '../index/rows.ts';
import {
  createEmbedding,
  createMeaning,
  createVectorSource,
  type EmbeddingOptions,
} from '../semantic/semantic.ts';
import { testFolder } from '../sources/folder-source.testing.ts';
import { ownedByEverybody } from '../sources/sources.ts';
import { createIndexUpdater } from './index-updater.ts';
import { createCrateRetries } from './retry.ts';
import { syncAllSources, type SourceReport, type SyncRequest, type SyncOptions } from './sync.ts';

/** An index of the test's own, and sources to bring it up to date with. */
export interface TestSync {
  readonly database: Database;
  readonly reader: IndexReader;
  readonly options: SyncOptions;
  /** The time for the index, which tests let pass. */
  readonly time: { now: number };
  sync(sources: readonly Source[], how?: Partial<SyncRequest>): Promise<SourceReport[]>;
  titles(): Promise<string[]>;
  status(): Promise<IndexStatus>;
}

export interface TestSyncOptions {
  readonly embeddings?: EmbeddingOptions;
  readonly maxMetadata?: number;
  /** Stands between the sync and the index. */
  readonly between?: (rows: CrateRows) => CrateRows;
  readonly lines?: string[];
  readonly isAfterFailure?: boolean;
}

/** Emptied rather than made anew for each test, which takes PostgreSQL a tenth of a second. */
const tables = ['crates', 'crate_sources', 'crate_removals', 'crate_vectors', 'crate_leases', 'crate_trying'];

export const inMemory: Backend = { name: 'SQLite', newLocation: async () => ':memory:' };

export async function newSync(
  t: TestContext,
  backend: Backend = inMemory,
  options: TestSyncOptions = {},
): Promise<TestSync> {
  const database = await openDatabase(await backend.newLocation(t), 'crates');
  t.after(() => database.close());
  for (const table of tables) await database.query(`DELETE FROM ${table}`);
  return syncIn(database, options);
}

/** As one more process would have it. */
export function syncIn(
  database: Database,
  {
    embeddings = { provider: 'off' },
    maxMetadata = 1e6,
    between = (rows) => rows,
    lines = [],
    isAfterFailure = false,
  }: TestSyncOptions = {},
): TestSync {
  const time = { now: 1_700_000_000_000 };
  const clock = (): number => time.now;
  const log = createLog('info', (line) => lines.push(line));
  const local = openLocalIndex(':memory:');
  const filler = createIndexFiller(database, local, createVectorSource(database, embeddings));
  const meaning = createMeaning(local, { ...embeddings, log });
  const reader = createIndexReader(database, local, { clock, meaning });
  const rows = between(createCrateRows(database, { clock }));
  const embedding = createEmbedding(database, rows, embeddings);
  const catchUp = () => filler.catchUp();
  const updater = createIndexUpdater({ database, rows, catchUp, embedding, clock, log: createLog('off') });
  const retries = createCrateRetries(database, { clock, isAfterFailure });
  const options = { database, updater, retries, maxMetadata, clock, log };
  const never = new AbortController().signal;
  return {
    database,
    reader,
    options,
    time,
    sync: (sources, how = {}) =>
      syncAllSources(
        options,
        sources.map((source) => ({ source, ownerOf: ownedByEverybody })),
        { signal: never, forget: false, report: () => {}, ...how },
      ),
    async titles() {
      const rows = await database.query<{ title: string }>("SELECT title FROM crates WHERE state = 'ok'");
      return rows.map(({ title }) => title).sort();
    },
    status: () => reader.status('ann', { limit: 100, offset: 0 }),
  };
}

/** Metadata of a crate, with a title and no more than that. */
export const metadataOf = (title: string, entities: readonly object[] = []): Buffer =>
  Buffer.from(
    JSON.stringify({
      '@context': 'https://w3id.org/ro/crate/1.1/context',
      '@graph': [
        { '@id': 'ro-crate-metadata.json', '@type': 'CreativeWork', about: { '@id': './' } },
        { '@id': './', '@type': 'Dataset', name: title },
        ...entities,
      ],
    }),
  );

export const zipOf = (title: string): Buffer =>
  archive([{ name: 'ro-crate-metadata.json', bytes: metadataOf(title) }]);

/** Zips with their numbers as titles, in the order of a listing. */
export const numbered = (count: number): Record<string, Buffer> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`${String(at).padStart(4, '0')}.zip`, zipOf(String(at))]),
  );

/** An archive that is no crate. */
export const plainZip = (): Buffer => archive([{ name: 'data.csv', bytes: Buffer.from('1,2') }]);

/** A folder as a source that tells what was opened in it. */
export async function watchedFolder(t: TestContext, files: Record<string, Uint8Array> = {}) {
  const test = await testFolder();
  t.after(() => test[Symbol.asyncDispose]());
  for (const [name, bytes] of Object.entries(files)) await test.write(name, bytes);
  const opened: string[] = [];
  const source: Source = {
    ...test.source,
    open(name, signal) {
      opened.push(name);
      return test.source.open(name, signal);
    },
  };
  /** What was opened since it was last asked for. */
  const reads = (): string[] => opened.splice(0).sort();
  return { directory: test.directory, write: test.write, remove: test.remove, source, reads };
}
