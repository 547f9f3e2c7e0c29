import type { TestContext } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import type { Database } from '../../../ports/database/database.ts';
import { openDatabase } from '../../../ports/database/open.ts';
import { madeUp, type MadeUp } from './crate.testing.ts';
import { createIndexReader, type IndexReader, type SearchPage, type SearchRequest } from './reading.ts';
import { createIndexWriter, type IndexWriter } from './writing.ts';

/** An index of a test's own. */
export interface TestIndex {
  readonly database: Database;
  readonly reader: IndexReader;
  readonly writer: IndexWriter;
  put(...crates: MadeUp[]): Promise<void>;
  search(query: string, options?: Partial<SearchRequest> & { viewer?: string }): Promise<SearchPage>;
  /** The objects that were found, without their ending. */
  find(query: string, options?: Partial<SearchRequest> & { viewer?: string }): Promise<string[]>;
}

/** Emptied rather than made anew for each test, which takes PostgreSQL a tenth of a second. */
const tables = [
  'crates',
  'crate_references',
  'crate_sources',
  'crate_segments',
  'crate_segment_parts',
  'crate_blocks',
  'crate_dead',
];

export async function newIndex(t: TestContext, backend: Backend): Promise<TestIndex> {
  const database = await openDatabase(await backend.newLocation(t), 'crates');
  t.after(() => database.close());
  for (const table of tables) await database.query(`DELETE FROM ${table}`);
  const reader = createIndexReader(database, null);
  const writer = createIndexWriter(database, { clock: () => 1_700_000_000_000 });
  const search: TestIndex['search'] = (query, { viewer = 'ann', ...options } = {}) =>
    reader.search(viewer, { query, mode: 'keyword', filters: [], limit: 100, offset: 0, ...options });
  return {
    database,
    reader,
    writer,
    search,
    put: (...crates) => writer.put(crates.map(madeUp)),
    find: async (query, options) => namesOf(await search(query, options)),
  };
}

export const namesOf = ({ results }: { results: readonly { locator: string }[] }): string[] =>
  results.map(({ locator }) => /([^/]*)\.zip$/.exec(locator)![1]!);
