import type { Hit } from './scoring.ts';
import { resultRows, shownIn, type ResultRow } from './result-rows.ts';
import type { Prepared, Searching } from './searching.ts';
import { markedBy, snippetOf, startOf, type Marked } from './snippet.ts';
import { textFields } from '../query/text-fields.ts';

export interface SearchResult {
  readonly crateId: string;
  readonly title: string;
  /** Its start. */
  readonly description: string;
  readonly locator: string;
  readonly authors: readonly string[];
  readonly year: number | null;
  readonly score: number;
  /** Where it fits, the words between ** and **. */
  readonly snippet: string;
  /** The fields that words were found in. */
  readonly matched: readonly string[];
}

export const mostDescription = 500;

export async function resultsOf(
  { database, visible }: Searching,
  { query }: Prepared,
  hits: readonly Hit[],
): Promise<SearchResult[]> {
  const marked = markedBy([...query.wanted, ...query.required]);
  const numbers = hits.map(({ segment, at }) => visible.segments[segment]!.of.columns.documents[at]!);
  const rows = await resultRows(database, numbers);
  return hits.map((hit, at) => resultOf(rows[at]!, hit, marked));
}

function resultOf(row: ResultRow, { score, fields }: Hit, marked: Marked): SearchResult {
  const shown = shownIn(row);
  const own: Readonly<Record<string, readonly string[]>> = {
    title: [row.title],
    description: [row.description],
  };
  const matched = textFields.filter((_, field) => (fields & (1 << field)) !== 0).map(({ name }) => name);
  // The description first: of equally good places it tells most.
  const order = matched.toSorted(
    (one, other) => Number(other === 'description') - Number(one === 'description'),
  );
  const texts = order.map((name) => (own[name] ?? shown[name] ?? []).join('; '));
  return {
    crateId: row.crate_id,
    title: row.title,
    description: startOf(row.description, mostDescription),
    locator: row.locator,
    authors: shown.author ?? [],
    year: shown.year ?? null,
    score,
    snippet: snippetOf(texts.length === 0 ? [row.description] : texts, marked),
    matched,
  };
}
