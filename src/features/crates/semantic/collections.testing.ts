/** Test collections of documents, queries and judgements, and how good the answers to the queries are. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Database } from '../../../ports/database/database.ts';
import { openDatabase } from '../../../ports/database/open.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { madeUp } from '../index/crate.testing.ts';
import { createIndexFiller } from '../index/filling.ts';
import { openLocalIndex } from '../index/local-index.ts';
import { createIndexReader, type IndexReader, type SearchMode } from '../index/reading.ts';
import { createCrateRows, type SummedUp } from '../index/rows.ts';
import { isStopWord } from '../text/stop-words.ts';
import { stemWord } from '../text/words.ts';
import { createMeaning, createVectorSource } from './semantic.ts';

export interface Collection {
  readonly name: string;
  readonly documents: readonly { readonly id: number; readonly title: string; readonly body: string }[];
  readonly queries: readonly string[];
  /** By the number of the query and the id of the document. */
  readonly gains: ReadonlyMap<number, ReadonlyMap<number, number>>;
}

/** The ids of what a query finds, best first. */
export type Way = (query: string) => Promise<number[]>;

/** `folder` is the name of one in the fixtures, or the path of another. */
export function readCollection(folder: string): Collection {
  const own = join(import.meta.dirname, '../../../../fixtures/search', folder);
  const path = existsSync(own) ? own : folder;
  const prefix = existsSync(join(path, 'docs.json')) ? '' : 'cran_';
  const read = <T>(name: string): T[] =>
    JSON.parse(readFileSync(join(path, `${prefix}${name}.json`), 'utf8')) as T[];
  const gains = new Map<number, Map<number, number>>();
  const judgements = read<{ query_num: string; id: string; position: number }>('qrels');
  for (const { query_num, id, position } of judgements) {
    const query = gains.get(Number(query_num)) ?? new Map<number, number>();
    gains.set(Number(query_num), query.set(Number(id), 5 - position));
  }
  const queries = read<{ query: string }>('queries').map(({ query }) => query);
  return { name: basename(path), documents: read('docs'), queries, gains };
}

const options = { clock: Date.now, log: createLog('off') };

/** An index of crates. */
export async function openIndexOf(
  crates: readonly SummedUp[],
): Promise<{ database: Database; reader: IndexReader }> {
  const database = await openDatabase(':memory:', 'crates');
  const rows = createCrateRows(database, options);
  for (let at = 0; at < crates.length; at += 1000) await rows.put(crates.slice(at, at + 1000));
  const local = openLocalIndex(':memory:');
  await createIndexFiller(database, local, createVectorSource(database, { provider: 'hash' })).catchUp();
  const meaning = createMeaning(local, { ...options, provider: 'hash' });
  return { database, reader: createIndexReader(database, local, { meaning }) };
}

/** As a user has it: documents are crates in the index. */
export async function openProduct({ documents }: Collection) {
  const crates = documents.map(({ id, title, body }) => madeUp({ id: String(id), title, description: body }));
  const { database, reader } = await openIndexOf(crates);
  const by =
    (mode: SearchMode): Way =>
    async (query) => {
      const request = { query, mode, filters: [], limit: 10, offset: 0, facets: false };
      const { results } = await reader.search('local', request);
      return results.map(({ locator }) => Number(/(\d+)\.zip$/.exec(locator)![1]));
    };
  return { by, [Symbol.asyncDispose]: () => database.close() };
}

/** SQLite's own: with its porter stemmer, asked for any word of the query, each as often as the query has it. */
export function openFts5({ documents }: Collection, { dropsStopWords = false } = {}): Way {
  const database = new DatabaseSync(':memory:');
  database.exec("CREATE VIRTUAL TABLE documents USING fts5 (title, body, tokenize = 'porter unicode61')");
  const insert = database.prepare('INSERT INTO documents (rowid, title, body) VALUES (?, ?, ?)');
  for (const { id, title, body } of documents) insert.run(id, title, body);
  const select = database.prepare(
    'SELECT rowid FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT 10',
  );
  return async (query) => {
    const all = query.match(/[a-z0-9]+/gi) ?? [];
    const telling = dropsStopWords ? all.filter((word) => !isStopWord(stemWord(word))) : all;
    const words = (telling.length > 0 ? telling : all).map((word) => `"${word}"`);
    return words.length === 0 ? [] : select.all(words.join(' OR ')).map(({ rowid }) => Number(rowid));
  };
}

/** The mean nDCG@10. With a shift, each query is judged by the judgements of another. */
export async function measureQuality(
  { queries, gains }: Collection,
  search: Way,
  shift = 0,
): Promise<number> {
  let sum = 0;
  let judged = 0;
  for (const [at, query] of queries.entries()) {
    const relevant = gains.get(at + 1 + shift);
    if (relevant === undefined) continue;
    const ideal = [...relevant.values()].toSorted((a, b) => b - a);
    const found = (await search(query)).map((id) => relevant.get(id) ?? 0);
    sum += discount(found) / discount(ideal);
    judged++;
  }
  return sum / judged;
}

/** Of the first ten; what comes later counts less. */
function discount(gains: readonly number[]): number {
  return gains.slice(0, 10).reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
}
