import type { Queries } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import { inPortions, marks } from './many-rows.ts';
import type { Shown } from './texts.ts';

export type ResultRow = {
  crate_id: string;
  document: number;
  title: string;
  description: string;
  locator: string;
  shown: string;
};

/** The rows of documents, in their order. `index_busy` where one of them has changed since it was found. */
export const resultRows = async (queries: Queries, documents: readonly number[]): Promise<ResultRow[]> =>
  inOrder(documents, await rowsByDocument(queries, documents));

export async function rowsByDocument(
  queries: Queries,
  documents: readonly number[],
): Promise<Map<number, ResultRow>> {
  const rows = new Map<number, ResultRow>();
  await inPortions(documents, async (some) => {
    const sql = `SELECT crate_id, document, title, description, locator, shown
                 FROM crates WHERE document IN (${marks(some.length)})`;
    for (const row of await queries.query<ResultRow>(sql, ...some)) rows.set(row.document, row);
  });
  return rows;
}

function inOrder<T>(documents: readonly number[], rows: ReadonlyMap<number, T>): T[] {
  return documents.map((document) => {
    const row = rows.get(document);
    if (row === undefined)
      throw new WorkcrateError(
        'index_busy',
        'The index is changing too fast to be read. Try again in a moment.',
      );
    return row;
  });
}

export const shownIn = ({ shown }: Pick<ResultRow, 'shown'>): Shown => JSON.parse(shown) as Shown;

/** The text by which documents are told to be alike. */
export function meaningText(row: Pick<ResultRow, 'title' | 'description' | 'shown'>): string {
  const { keyword = [], entity = [] } = shownIn(row);
  return [row.title, row.description, keyword.join(', '), entity.join(', ')]
    .filter((text) => text !== '')
    .join('\n');
}
