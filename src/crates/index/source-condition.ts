import { marks } from './many-rows.ts';

/** What is to follow in a condition of SQL, so that crates of these sources alone are found; nothing for null. */
export function fromSources(sources: ReadonlySet<string> | null): { sql: string; values: string[] } {
  if (sources === null) return { sql: '', values: [] };
  // An empty list is no SQL.
  if (sources.size === 0) return { sql: 'AND 1 = 0', values: [] };
  return { sql: `AND source IN (${marks(sources.size)})`, values: [...sources] };
}
