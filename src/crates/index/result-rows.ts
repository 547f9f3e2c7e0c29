import type { Queries } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import { inPortions, marks } from './many-rows.ts';
import type { Shown } from './texts.ts';

type ShortRow = {
  crate_id: string;
  document: number;
  title: string;
  description: string;
  locator: string;
};

export type ResultRow = ShortRow & { shown: string };

/** The rows of documents, in their order. `index_busy` where one of them has changed since it was found. */
export const resultRows = async (queries: Queries, documents: readonly number[]): Promise<ResultRow[]> =>
  inOrder(documents, await rowsByDocument(queries, documents));

/** The same without what only a snippet needs. */
export const shortRows = async (queries: Queries, documents: readonly number[]): Promise<ShortRow[]> =>
  inOrder(documents, await readRows<ShortRow>(queries, documents, shortColumns));

export const rowsByDocument = (
  queries: Queries,
  documents: readonly number[],
): Promise<Map<number, ResultRow>> => readRows<ResultRow>(queries, documents, `${shortColumns}, shown`);

const shortColumns = 'crate_id, document, title, description, locator';

async function readRows<T extends ShortRow>(
  queries: Queries,
  documents: readonly number[],
  columns: string,
): Promise<Map<number, T>> {
  const rows = new Map<number, T>();
  await inPortions(documents, async (some) => {
    const sql = `SELECT ${columns} FROM crates WHERE document IN (${marks(some.length)})`;
    for (const row of await queries.query<T>(sql, ...some)) rows.set(row.document, row);
  });
  return rows;
}

function inOrder<T>(documents: readonly number[], rows: ReadonlyMap<number, T>): T[] {
  return documents.map((document) => {
    const row = rows.get(document);
    if (row === undefined)
      throw new WorkcrateError('index_busy', 'The index changes faster than it can be read. Try again.');
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
