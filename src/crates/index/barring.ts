import { facets } from '../query/facets.ts';
import type { FacetFilter } from '../query/parse.ts';
import type { Pace } from './pace.ts';
import { walk, type ClauseLists } from './scoring.ts';
import type { Visible } from './visible.ts';

/** By segment: 1 for each document that must not be found. */
export type Barred = (Uint8Array | null)[];

export const nothingBarred = ({ segments }: Visible): Barred => segments.map(() => null);

const marksOf = (visible: Visible, barred: Barred, index: number): Uint8Array =>
  (barred[index] ??= new Uint8Array(visible.segments[index]!.of.columns.size));

const valuesAtOnce = 200;

/** Bars what does not fit a filter. Each value is tried once, however many documents have it. */
export async function barByFilter(
  visible: Visible,
  barred: Barred,
  { facet, wanted, negated }: FacetFilter,
  pace: Pace,
): Promise<void> {
  const { fits } = facets[facet]!;
  for (const [index, { of }] of visible.segments.entries()) {
    const { codes, values } = of.columns.facets[facet]!;
    const fitting: boolean[] = [];
    for (const { values: own, also } of values) {
      if (fitting.length % valuesAtOnce === 0) await pace.breathe();
      fitting.push((own.some(fitsWanted) || also.some(fitsWanted)) !== negated);
    }
    const marks = marksOf(visible, barred, index);
    for (let at = 0; at < marks.length; at++) if (!fitting[codes[at]!]) marks[at] = 1;
  }

  function fitsWanted(value: string): boolean {
    return fits(value, wanted);
  }
}

/** Bars what holds a clause. */
export function barClause(visible: Visible, barred: Barred, lists: ClauseLists): void {
  for (const [index, list] of lists.entries()) {
    if (list === null) continue;
    const marks = marksOf(visible, barred, index);
    walk(list, (at) => (marks[at] = 1));
  }
}

/** Bars all but these documents, or these. */
export function barDocuments(
  visible: Visible,
  barred: Barred,
  documents: readonly Uint8Array[],
  negated: boolean,
): void {
  for (const [index, own] of documents.entries()) {
    const marks = marksOf(visible, barred, index);
    for (let at = 0; at < marks.length; at++) if ((own[at] !== 0) === negated) marks[at] = 1;
  }
}
