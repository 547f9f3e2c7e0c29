import type { TestContext } from 'node:test';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import type { Database } from '../../../ports/database/database.ts';
import { openDatabase } from '../../../ports/database/open.ts';
import { madeUp, type MadeUp } from './crate.testing.ts';
import { createIndexFiller } from './filling.ts';
import { openLocalIndex, type LocalIndex } from './local-index.ts';
import { createIndexReader, type IndexReader, type SearchPage, type SearchRequest } from './reading.ts';
import { createCrateRows, type CrateRows } from './rows.ts';

/** An index of a test's own. */
export interface TestIndex {
  readonly database: Database;
  readonly reader: IndexReader;
  readonly local: LocalIndex;
  readonly rows: CrateRows;
  put(...crates: MadeUp[]): Promise<void>;
  search(query: string, options?: Partial<SearchRequest> & { viewer?: string }): Promise<SearchPage>;
  /** The objects that were found, without their ending. */
  find(query: string, options?: Partial<SearchRequest> & { viewer?: string }): Promise<string[]>;
}

/** Emptied rather than made anew for each test, which takes PostgreSQL a tenth of a second. */
const tables = ['crates', 'crate_sources', 'crate_removals', 'crate_vectors'];

/** Rows that have the local index follow each change. */
export function followRows(rows: CrateRows, catchUp: () => Promise<void>): CrateRows {
  const follow =
    <Arguments extends unknown[]>(change: (...given: Arguments) => Promise<void>) =>
    async (...given: Arguments): Promise<void> => {
      await change(...given);
      await catchUp();
    };
  const { put, putBroken, remove, removeSource } = rows;
  return {
    ...rows,
    put: follow(put),
    putBroken: follow(putBroken),
    remove: follow(remove),
    removeSource: follow(removeSource),
  };
}

export async function newIndex(t: TestContext, backend: Backend): Promise<TestIndex> {
  const database = await openDatabase(await backend.newLocation(t), 'crates');
  t.after(() => database.close());
  for (const table of tables) await database.query(`DELETE FROM ${table}`);
  const local = openLocalIndex(':memory:');
  t.after(() => local[Symbol.dispose]());
  const filler = createIndexFiller(database, local, null);
  await filler.catchUp();
  const reader = createIndexReader(database, local);
  const rows = followRows(createCrateRows(database, { clock: () => 1_700_000_000_000 }), () =>
    filler.catchUp(),
  );
  const search: TestIndex['search'] = (query, { viewer = 'ann', ...options } = {}) =>
    reader.search(viewer, { query, mode: 'keyword', filters: [], limit: 100, offset: 0, ...options });
  return {
    database,
    reader,
    local,
    rows,
    search,
    put: (...crates) => rows.put(crates.map(madeUp)),
    find: async (query, options) => namesOf(await search(query, options)),
  };
}

export const namesOf = ({ results }: { results: readonly { locator: string }[] }): string[] =>
  results.map(({ locator }) => /([^/]*)\.zip$/.exec(locator)![1]!);
