import { findSeparator, parseCsvRows } from '../../platform/previews/table.ts';
import { answerCalls } from '../../platform/workers/inside.ts';

/** Which rows of a table are wanted. */
export interface TableJob {
  /** The file, or its beginning. */
  readonly text: string;
  readonly isCut: boolean;
  readonly offset: number;
  readonly limit: number;
  /** The column by which rows are sorted; null: as in the file. */
  readonly sort: number | null;
  readonly descending: boolean;
  /** Only rows with this in a cell, in any case. */
  readonly filter: string;
}

export interface TablePage {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** How many rows were read, and how many of them fit the filter. */
  readonly total: number;
  readonly matching: number;
  /** How many columns the widest row has: not all are given. */
  readonly width: number;
  /** Whether the file has rows that were not read. */
  readonly isCut: boolean;
}

const maxSortedRows = 50_000;
const maxSortedColumns = 100;

const tableMethods = {
  async readPage({ text, isCut, offset, limit, sort, descending, filter }: TableJob): Promise<TablePage> {
    const rows = parseCsvRows(text, findSeparator(text), maxSortedRows + 2);
    const hasMore = rows.length > maxSortedRows + 1;
    // The last row of a text that is cut is a part of one.
    if (hasMore || isCut) rows.splice(isCut && !hasMore ? rows.length - 1 : maxSortedRows + 1);
    const width = rows.reduce((widest, row) => Math.max(widest, row.length), 0);
    const [head = [], ...body] = rows;
    const wanted = filter.toLowerCase();
    const matching =
      wanted === '' ? body : body.filter((row) => row.some((cell) => cell.toLowerCase().includes(wanted)));
    if (sort !== null) matching.sort((one, other) => compareTableCells(one[sort] ?? '', other[sort] ?? ''));
    if (sort !== null && descending) matching.reverse();
    return {
      columns: head.slice(0, maxSortedColumns),
      rows: matching.slice(offset, offset + limit).map((row) => row.slice(0, maxSortedColumns)),
      total: body.length,
      matching: matching.length,
      width,
      isCut: isCut || hasMore,
    };
  },
};

/** Numbers by their value and before words; nothing comes last. */
function compareTableCells(one: string, other: string): number {
  if (one === '' || other === '') return Number(one === '') - Number(other === '');
  const [first, second] = [Number(one), Number(other)];
  if (Number.isNaN(first) || Number.isNaN(second)) {
    if (Number.isNaN(first) !== Number.isNaN(second)) return Number.isNaN(first) ? 1 : -1;
    return one < other ? -1 : Number(one > other);
  }
  return first - second;
}

export type TableMethods = typeof tableMethods;

answerCalls(tableMethods);
