/**
 * What is kept in memory of each document to filter, sort and count by: numbers in arrays, and codes for values. It
 * follows the local index; a document never changes, a crate that is read again is another document.
 */
import { facets, type FacetValues } from '../query/facets.ts';
import { codedColumns, publicAudience, type LocalIndex } from './local-index.ts';

const sourceColumn = facets.findIndex(({ name }) => name === 'source');
export const shapeColumn = codedColumns.indexOf('shape');

export interface Columns {
  /** Documents have numbers below this. */
  readonly size: number;
  /** Of each document; 0 where it was removed. */
  readonly audiences: Uint32Array;
  readonly sortKeys: Float64Array;
  /** When it was published, in milliseconds; NaN where that is not known. */
  readonly published: Float64Array;
  /** By column, of each document. */
  readonly codes: readonly Uint32Array[];
  /** The values that a facet has by a code. */
  values(code: number): FacetValues;
  /** The value of any column by a code. */
  text(code: number): string;
}

/** The documents that a viewer sees. */
export interface VisibleDocuments {
  readonly columns: Columns;
  readonly count: number;
  /** 1 for each that is seen. */
  readonly marks: Uint8Array;
  /** The audiences with documents that the viewer may see, and how many are seen of each. */
  readonly audiences: readonly number[];
}

type Row = [number, number, number, number | null, ...number[]];

/** Gives the columns as they are now. Within one call of `LocalIndex.read` they fit the tables. */
export function createColumns(local: LocalIndex): () => Columns {
  let [size, lastRemoved, epoch] = [0, 0, ''];
  let audiences = new Uint32Array(1024);
  let sortKeys = new Float64Array(1024);
  let published = new Float64Array(1024);
  let codes = codedColumns.map(() => new Uint32Array(1024));
  const parsed = new Map<number, FacetValues>();

  function grow(to: number): void {
    if (to <= audiences.length) return;
    const capacity = Math.max(to, audiences.length * 2);
    const enlarge = <T extends Uint32Array | Float64Array>(old: T, larger: T): T => {
      larger.set(old);
      return larger;
    };
    audiences = enlarge(audiences, new Uint32Array(capacity));
    sortKeys = enlarge(sortKeys, new Float64Array(capacity));
    published = enlarge(published, new Float64Array(capacity));
    codes = codes.map((column) => enlarge(column, new Uint32Array(capacity)));
  }

  const readText = (code: number): string =>
    (local.prepare('SELECT value FROM coded WHERE code = ?').get(code) as unknown as [string])[0];

  function readNew(): void {
    const sql = `SELECT document, audience, sort_key, published, ${codedColumns.join(', ')} FROM documents
      WHERE document >= ? ORDER BY document`;
    for (const row of local.prepare(sql).iterate(size) as Iterable<unknown> as Iterable<Row>) {
      const [document, audience, sortKey, time, ...coded] = row;
      grow(document + 1);
      audiences[document] = audience;
      sortKeys[document] = sortKey;
      published[document] = time ?? Number.NaN;
      for (const [at, code] of coded.entries()) codes[at]![document] = code;
      size = document + 1;
    }
  }

  function readRemoved(): void {
    const sql = 'SELECT number, document FROM removed WHERE number > ? ORDER BY number';
    for (const row of local.prepare(sql).iterate(lastRemoved) as Iterable<unknown> as Iterable<
      [number, number]
    >) {
      lastRemoved = row[0];
      if (row[1] < size) audiences[row[1]] = 0;
    }
  }

  return () => {
    const now = local.readEpoch();
    if (now !== epoch) {
      [size, lastRemoved, epoch] = [0, 0, now];
      audiences.fill(0);
      parsed.clear();
    }
    readNew();
    readRemoved();
    return {
      size,
      audiences,
      sortKeys,
      published,
      codes,
      text: readText,
      values(code) {
        const known = parsed.get(code) ?? (JSON.parse(readText(code)) as FacetValues);
        parsed.set(code, known);
        return known;
      },
    };
  };
}

/** What is for all and what is the viewer's own, from the sources that are named; null for all. */
export function selectVisible(
  local: LocalIndex,
  columns: Columns,
  viewer: string,
  sources: ReadonlySet<string> | null,
): VisibleDocuments {
  const own = local.prepare('SELECT audience FROM audiences WHERE owner = ?').get(viewer) as
    | [number]
    | undefined;
  const isNamed = sources === null ? null : createCodeTest(columns, (text) => sources.has(text));
  const marks = new Uint8Array(columns.size);
  const [ownAudience, sourceCodes] = [own?.[0] ?? publicAudience, columns.codes[sourceColumn]!];
  let count = 0;
  for (let document = 1; document < columns.size; document++) {
    const audience = columns.audiences[document]!;
    if (audience === 0 || (audience !== publicAudience && audience !== ownAudience)) continue;
    if (isNamed !== null && !isNamed(sourceCodes[document]!)) continue;
    marks[document] = 1;
    count++;
  }
  const audiences = own === undefined ? [publicAudience] : [publicAudience, ownAudience];
  return { columns, count, marks, audiences };
}

/** Whether one of the values under a code passes; each code is looked at once. */
export function createCodeTest(
  columns: Columns,
  passes: (value: string) => boolean,
): (code: number) => boolean {
  const known = new Map<number, boolean>();
  return (code) => {
    let answer = known.get(code);
    if (answer === undefined) {
      const { values, also } = columns.values(code);
      known.set(code, (answer = values.some(passes) || also.some(passes)));
    }
    return answer;
  };
}

/** Of two documents that are otherwise equal, which comes first: below 0 for the first. */
export const compareDocuments = ({ sortKeys }: Columns, one: number, other: number): number =>
  sortKeys[one]! - sortKeys[other]! || one - other;
