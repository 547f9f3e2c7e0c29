/**
 * Searching many crates: words against plain FTS5 in the same run, entities, and both while indexing goes on.
 *
 *   node bench/search.ts [crates, default 200000] [postgres, to have the index there]
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { statSync, writeFileSync } from 'node:fs';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../src/ports/database/open.ts';
import { findPostgres } from '../src/ports/database/postgres.testing.ts';
import type { Entity } from '../src/features/crates/crate.ts';
import { createIndexFiller, type IndexFiller } from '../src/features/crates/index/filling.ts';
import { openLocalIndex } from '../src/features/crates/index/local-index.ts';
import { createIndexReader, type IndexReader } from '../src/features/crates/index/reading.ts';
import { createCrateRows, type CrateRows } from '../src/features/crates/index/rows.ts';
import { createVectorSource } from '../src/features/crates/semantic/semantic.ts';
import { temporaryFolder } from './program.ts';
import {
  madeUpCrate,
  runningWords,
  seeded,
  sentenceWords,
  somebody,
  somewhere,
  vocabulary,
  zipf,
} from './search-corpus.ts';
import { openFts5 } from './search-fts5.ts';

/** As `sync/` does. */
const batch = 500;

async function main(count: number, kind: string): Promise<void> {
  using folder = temporaryFolder();
  await using postgres = kind === 'postgres' ? await findPostgres() : null;
  const file = (await postgres?.url()) ?? join(folder.path, 'crates.db');
  const indexFile = join(folder.path, 'crates-index.db');
  let built = 0;
  {
    const database = await openDatabase(file, 'crates');
    const rows = createCrateRows(database, { clock: Date.now });
    const read = await measureCpu(() => putAll(rows, count));
    built = await measureCpu(async () => {
      using local = openLocalIndex(indexFile);
      await createIndexFiller(database, local, createVectorSource(database, { provider: 'hash' })).catchUp();
    });
    const size = (path: string): string => `${Math.round(statSync(path).size / 1e6)} MB`;
    console.log(
      `put ${count} crates as rows in ${seconds(read)} s of CPU${postgres === null ? `, ${size(file)}` : ''}`,
    );
    console.log(`made the index of them in ${seconds(built)} s of CPU, ${size(indexFile)}`);
    await database.close();
  }
  using fts5 = openFts5(join(folder.path, 'fts5.db'));
  const fts5Built = await measureCpu(async () => {
    for (let at = 0; at < count; at += 1000)
      fts5.add(Array.from({ length: Math.min(1000, count - at) }, (_, index) => madeUpCrate(at + index)));
  });
  console.log(
    `FTS5 built in ${seconds(fts5Built)} s of CPU; ours to that: ${(built / fts5Built).toFixed(2)} (at most 4)`,
  );

  const database = await openDatabase(file, 'crates');
  using local = openLocalIndex(indexFile);
  const reader = createIndexReader(database, local);
  const opened = await timed(() => search(reader, 'nothing'));
  console.log(`first search ${opened.toFixed(0)} ms`);
  console.table(await compare(reader, fts5));
  console.table(await entities(reader));
  readInProcess(folder.path, file, indexFile);
  await whileIndexing(reader, { file, indexFile, from: count });
  await large(createCrateRows(database, { clock: Date.now }), createIndexFiller(database, local, null));
  await database.close();
}

async function putAll(rows: CrateRows, count: number): Promise<void> {
  for (let at = 0; at < count; at += batch)
    await rows.put(
      Array.from({ length: Math.min(batch, count - at) }, (_, index) => madeUpCrate(at + index)),
    );
}

const search = (
  reader: IndexReader,
  query: string,
  options: { facets?: boolean; filters?: [string, string][] } = {},
) =>
  reader.search('local', {
    query,
    mode: 'keyword',
    filters: [],
    limit: 10,
    offset: 0,
    facets: false,
    ...options,
  });

interface Shape {
  [percentile: string]: number;
}

/** Each query by every way in turn, so that whatever else the machine does hits all of them alike. */
async function compare(
  reader: IndexReader,
  fts5: ReturnType<typeof openFts5>,
): Promise<Record<string, Shape>> {
  const ways: Record<string, (query: Query) => unknown> = {
    'FTS5, three words': ({ three }) => fts5.search(three),
    'FTS5, three words without stop words': ({ three }) => fts5.searchTelling(three),
    'three words': ({ three }) => search(reader, three.join(' ')),
    'three words, one year': ({ three }) => search(reader, three.join(' '), { filters: [['year', '2020']] }),
    'three words, with facets': ({ three }) => search(reader, three.join(' '), { facets: true }),
    'FTS5, twenty words': ({ twenty }) => fts5.search(twenty),
    'twenty words': ({ twenty }) => search(reader, twenty.join(' ')),
    'a word of a field': ({ three }) => search(reader, `title:${three[0]}`),
    phrases: ({ pair }) => search(reader, `"${pair.join(' ')}"`),
    prefixes: ({ three }) => search(reader, `${three[0]!.slice(0, 5)}*`),
  };
  const times = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  for (const [at, query] of makeQueries(200).entries())
    for (const [name, way] of Object.entries(ways)) {
      const ms = await timed(async () => way(query));
      // The first fifty only warm up.
      if (at >= 50) times.get(name)!.push(ms);
    }
  return Object.fromEntries(Array.from(times, ([name, all]) => [name, shapeOf(all)]));
}

interface Query {
  readonly three: string[];
  readonly twenty: string[];
  readonly pair: string[];
}

/** Any words of a sentence, twenty words of running text, and two that follow each other. */
function makeQueries(count: number): Query[] {
  const random = seeded(42);
  return Array.from({ length: count }, () => {
    const twenty = runningWords(random, 20);
    return { three: sentenceWords(random, 3), twenty, pair: twenty.slice(0, 2) };
  });
}

async function entities(reader: IndexReader): Promise<Record<string, Shape>> {
  const random = seeded(44);
  const by = (type: string, path: string, value: string, exact: boolean) =>
    reader.byEntity('local', { type, path, value, entry: null, exact, limit: 50, offset: 0 });
  const names = Array.from({ length: 350 }, () => somebody(random));
  const homes = Array.from({ length: 150 }, () => somewhere(random));
  return {
    exact: await spread(names, (name) => by('Person', 'name', name, true)),
    contains: await spread(names, (name) => by('Person', 'name', name.slice(2, 10), false)),
    'exact, path': await spread(homes, (home) => by('Dataset', 'author.affiliation.name', home, true)),
  };
}

interface Growing {
  readonly file: string;
  readonly indexFile: string;
  readonly from: number;
}

async function whileIndexing(reader: IndexReader, growing: Growing): Promise<void> {
  const worker = new Worker(new URL(import.meta.url), { workerData: growing });
  const queries = makeQueries(300);
  await new Promise((resolve) => worker.once('message', resolve));
  const shape = await spread(queries, async ({ three }) => search(reader, three.join(' ')));
  const put = new Promise<number>((resolve) => worker.once('message', resolve));
  worker.postMessage('stop');
  console.table({
    'three words, while another thread indexes': { ...shape, 'crates put meanwhile': await put },
  });
  await worker.terminate();
}

async function indexOn({ file, indexFile, from }: Growing): Promise<void> {
  const database = await openDatabase(file, 'crates');
  const rows = createCrateRows(database, { clock: Date.now });
  using local = openLocalIndex(indexFile);
  const filler = createIndexFiller(database, local, createVectorSource(database, { provider: 'hash' }));
  const stop = new AbortController();
  parentPort!.once('message', () => stop.abort());
  parentPort!.postMessage('started');
  let put = 0;
  while (!stop.signal.aborted) {
    await rows.put(Array.from({ length: batch }, (_, at) => madeUpCrate(from + put + at)));
    put += batch;
    await filler.catchUp();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await database.close();
  parentPort!.postMessage(put);
}

async function large(rows: CrateRows, filler: IndexFiller): Promise<void> {
  const crate = madeUpCrate(-1);
  const random = seeded(45);
  const parts = Array.from({ length: 100_000 }, (_, at): Entity => ({
    id: `data/file-${at}.csv`,
    types: ['File'],
    properties: [
      { name: 'name', text: `${vocabulary[zipf(random, vocabulary.length)]} ${at}` },
      { name: 'encodingFormat', text: 'text/csv' },
      { name: 'contentSize', text: String(Math.floor(random() * 1e9)) },
      { name: 'isPartOf', target: 0 },
    ],
  }));
  const files = parts.map(({ id }) => id);
  const metadata = { ...crate.metadata, entities: [...crate.metadata.entities.slice(0, 1), ...parts] };
  const ms = await timed(async () => {
    await rows.put([{ ...crate, metadata, files }]);
    await filler.catchUp();
  });
  console.log(`a crate of 100,000 entities and files put in ${seconds(ms)} s`);
}

function readInProcess(folder: string, location: string, indexFile: string): void {
  const asked = join(folder, 'queries.json');
  const queries = makeQueries(300).flatMap(({ three, twenty }) => [three.join(' '), twenty.join(' ')]);
  const random = seeded(44);
  const people = Array.from({ length: 300 }, () => somebody(random));
  writeFileSync(asked, JSON.stringify({ queries, people }));
  const script = join(import.meta.dirname, 'search-reader.ts');
  spawnSync(process.execPath, [script, location, indexFile, asked], { stdio: 'inherit' });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** All threads of this process: what else the machine does counts less than with a clock. */
async function measureCpu(work: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

async function spread<T>(all: readonly T[], work: (one: T) => unknown): Promise<Shape> {
  const times: number[] = [];
  for (const one of all) times.push(await timed(async () => work(one)));
  // The first fifty only warm up.
  return shapeOf(times.slice(50));
}

/** Milliseconds, by percentile. */
function shapeOf(times: readonly number[]): Shape {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): number => Number(sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(2));
  return { p50: at(0.5), p95: at(0.95), most: at(1) };
}

if (!isMainThread) await indexOn(workerData as Growing);
else await main(Number(process.argv[2] ?? 200_000), process.argv[3] ?? 'sqlite');
