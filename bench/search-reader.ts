/**
 * How much memory does a process take that has searched? Started by `search.ts` in a process of its own, without the
 * texts that crates are made of.
 */
import { readFileSync } from 'node:fs';
import { openDatabase } from '../src/ports/database/open.ts';
import { openLocalIndex } from '../src/features/crates/index/local-index.ts';
import { createIndexReader } from '../src/features/crates/index/reading.ts';

const [location, indexFile, asked] = process.argv.slice(2);
const { queries, people } = JSON.parse(readFileSync(asked!, 'utf8')) as {
  queries: string[];
  people: string[];
};
const megabytes = (): number => Math.round(process.memoryUsage().rss / 1e6);
const before = megabytes();
const database = await openDatabase(location!, 'crates');
using local = openLocalIndex(indexFile!);
const reader = createIndexReader(database, local);
const page = { limit: 10, offset: 0 };
for (const query of queries)
  await reader.search('local', { query, mode: 'keyword', filters: [], facets: true, ...page });
for (const value of people)
  for (const exact of [true, false])
    await reader.byEntity('local', { type: 'Person', path: 'name', value, entry: null, exact, ...page });
await database.close();
console.log(`RSS of a process that reads: ${before} MB before, ${megabytes()} MB after (at most 300)`);
