import { facets } from '../query/facets.ts';
import type { Pace } from './pace.ts';
import type { Visible } from './visible.ts';

export interface ValueCount {
  readonly value: string;
  readonly count: number;
}

/** How many of the chosen documents have which values, the most frequent first. */
export async function countFacets(
  { segments }: Visible,
  chosen: readonly Uint8Array[],
  most: number,
  pace: Pace,
): Promise<Record<string, ValueCount[]>> {
  const found = chosen.map(placesIn);
  const counted: Record<string, ValueCount[]> = {};
  for (const [facet, { name }] of facets.entries()) {
    const totals = new Map<string, number>();
    for (const [index, { of }] of segments.entries()) {
      await pace.breathe();
      const { codes, values } = of.columns.facets[facet]!;
      const counts = new Uint32Array(values.length);
      const places = found[index]!;
      for (let at = 0; at < places.length; at++) counts[codes[places[at]!]!]!++;
      for (const [code, count] of counts.entries()) {
        if (count === 0) continue;
        for (const value of values[code]!.values) totals.set(value, (totals.get(value) ?? 0) + count);
      }
    }
    counted[name] = topOf(totals, most);
  }
  return counted;
}

function placesIn(marks: Uint8Array): Uint32Array {
  const places = new Uint32Array(marks.length);
  let count = 0;
  for (let at = 0; at < marks.length; at++) if (marks[at] !== 0) places[count++] = at;
  return places.subarray(0, count);
}

export function topOf(totals: ReadonlyMap<string, number>, most: number): ValueCount[] {
  return Array.from(totals, ([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
    .slice(0, most);
}
