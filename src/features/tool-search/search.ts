/** Ranks the tools of a list, and keeps the indexes of the lists that were searched last. */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { SearchableTool } from './fields.ts';
import { ToolIndex } from './tool-index.ts';

/** Lists of tools differ by user; each is indexed once. By the tools in them, since that is what an index costs. */
const indexes = new BoundedMap<string, ToolIndex>({
  mostEntries: 32,
  mostWeight: 20_000,
  weigh: (index) => Math.max(1, index.size),
});

/** The tools that fit a query best, best first; of equals the one whose name comes first. */
export function searchTools<T extends SearchableTool>(tools: readonly T[], query: string, most: number): T[] {
  return getIndex(tools)
    .search(query, most)
    .map(({ at }) => tools[at]!);
}

/** The lists that were searched last: the same definitions as before need not be hashed. */
const lastSearched: { readonly tools: readonly SearchableTool[]; readonly index: ToolIndex }[] = [];
const maxLastSearched = 8;

function getIndex(tools: readonly SearchableTool[]): ToolIndex {
  const last = lastSearched.find((one) => hasSameTools(one.tools, tools));
  if (last !== undefined) return last.index;
  const index = findOrBuildIndex(tools);
  lastSearched.unshift({ tools, index });
  lastSearched.length = Math.min(lastSearched.length, maxLastSearched);
  return index;
}

const hasSameTools = (one: readonly SearchableTool[], other: readonly SearchableTool[]): boolean =>
  one.length === other.length && one.every((tool, at) => tool === other[at]);

function findOrBuildIndex(tools: readonly SearchableTool[]): ToolIndex {
  const key = digestTools(tools);
  const known = indexes.use(key);
  if (known !== undefined) return known;
  const index = new ToolIndex(tools);
  indexes.set(key, index);
  return index;
}

/** A definition that has a hash is told by it; of others everything that is searched is hashed. */
function digestTools(tools: readonly SearchableTool[]): string {
  const digest = createHash('sha256');
  for (const tool of tools) {
    const { name, server, hash } = tool;
    digest.update(`${JSON.stringify([name, server, hash ?? tool])}\n`);
  }
  return digest.digest('base64');
}
