/**
 * The facets that crates are filtered and counted by, and when a value fits a filter. The counting itself is in `index/`.
 */
import type { ReadCrate } from '../crate.ts';
import { foldCaseAndAccents } from '../text/words.ts';

/** What crates can be filtered and counted by; the order is part of the index. */
export const facets = [
  {
    name: 'type',
    description: 'types of the entities in it, such as ComputationalWorkflow',
    fits: equalsFolded,
  },
  { name: 'license', description: 'its licence: part of its URL or name', fits: includesFolded },
  { name: 'year', description: 'when it was published: 2021, or 2019..2023', fits: isInYearRange },
  { name: 'profile', description: 'profiles that it conforms to: part of the URL', fits: includesFolded },
  { name: 'source', description: 'where it was found: part of the URL', fits: includesFolded },
  { name: 'kind', description: 'zip, folder or detached', fits: equalsFolded },
  { name: 'spec', description: 'version of RO-Crate', fits: equalsFolded },
] as const;

export type FacetName = (typeof facets)[number]['name'];

/** The values of a facet for one crate: those it is counted under, and others that it is found by. */
export interface FacetValues {
  readonly values: readonly string[];
  readonly also: readonly string[];
}

const facetAliases: Readonly<Record<string, FacetName>> = {
  types: 'type',
  licence: 'license',
  published: 'year',
  date: 'year',
  conformsto: 'profile',
};

/** The index of a facet in the list, or -1. */
export function findFacetNumber(name: string): number {
  const lower = name.toLowerCase();
  const own = Object.hasOwn(facetAliases, lower) ? facetAliases[lower] : lower;
  return facets.findIndex((facet) => facet.name === own);
}

/** In the order of the facets. */
export function extractFacetValues({
  place,
  metadata,
}: Pick<ReadCrate, 'place' | 'metadata'>): FacetValues[] {
  const types = new Set(metadata.entities.flatMap((entity) => entity.types));
  const { license, year, spec } = metadata;
  const licenses = listLicenseFacetValues(license);
  return [
    toFacetValues([...types].toSorted()),
    { values: licenses.slice(0, 1), also: licenses.slice(1) },
    toFacetValues(year === null ? [] : [String(year)]),
    toFacetValues([...new Set(metadata.profiles)].toSorted()),
    toFacetValues([place.source]),
    toFacetValues([place.kind]),
    toFacetValues(spec === null ? [] : [spec]),
  ];
}

/** An address is best. An id such as `#license` means something only within its crate, so the name comes first. */
function listLicenseFacetValues(license: ReadCrate['metadata']['license']): string[] {
  if (license === null) return [];
  const { id, name } = license;
  const isAddress = id !== null && /^[a-z][a-z0-9+.-]*:/i.test(id);
  return (isAddress ? [id, name] : [name, id]).filter((text) => text !== null);
}

const toFacetValues = (values: string[]): FacetValues => ({ values, also: [] });

function equalsFolded(value: string, wanted: string): boolean {
  return foldCaseAndAccents(value) === foldCaseAndAccents(wanted.trim());
}

function includesFolded(value: string, wanted: string): boolean {
  return foldCaseAndAccents(value).includes(foldCaseAndAccents(wanted.trim()));
}

const yearRangePattern = /^\s*(\d{1,4})?\s*\.\.\s*(\d{1,4})?\s*$/;

function isInYearRange(value: string, wanted: string): boolean {
  const range = yearRangePattern.exec(wanted);
  if (range === null) return value === wanted.trim();
  const [, from = '0', to = '9999'] = range;
  return Number(value) >= Number(from) && Number(value) <= Number(to);
}

/** Whether a filter by year is valid. */
export const isYearFilter = (wanted: string): boolean =>
  yearRangePattern.test(wanted) || /^\s*\d{1,4}\s*$/.test(wanted);
