/**
 * The one JSON shape in which a crate is shown (`get_crate`), and how it is made of what was read. It is stored in the
 * index as it is; what can be searched for is decided in `index/` and `query/`.
 */
import { z } from 'zod';
import type { CrateIssue, CrateMetadata, Entity, ReadCrate } from '../crate.ts';
import { truncateMetadataText } from './graph.ts';

const maxSummaryTypes = 200;
/** Of authors, keywords, identifiers and profiles each. All can be searched for, but nobody reads more than this. */
const maxSummaryItems = 500;
const maxSummaryDescriptionLength = 20_000;
const maxSummaryNameLength = 1000;

/** The one shape in which a crate is shown (SPEC B5). Dates are ISO 8601; unknown values are null. */
export const crateSummarySchema = z.object({
  crate_id: z.string(),
  title: z.string(),
  description: z.string(),
  authors: z.array(z.string()),
  keywords: z.array(z.string()),
  license: z.object({ id: z.string().nullable(), name: z.string().nullable() }).nullable(),
  date_published: z.string().nullable().describe('ISO 8601, as exact as the crate has it: 2023, 2023-05, …'),
  year: z.number().int().nullable(),
  identifiers: z.array(z.string()),
  spec_version: z.string().nullable().describe('Version of RO-Crate, such as 1.1'),
  profiles: z.array(z.string()),
  kind: z.enum(['zip', 'folder', 'detached']),
  source: z.string(),
  resource_locator: z.string(),
  size: z.number().int().nullable().describe('Bytes of the archive, or of the metadata file'),
  last_modified: z.string().nullable(),
  entity_count: z.number().int(),
  file_count: z.number().int(),
  bytes: z.number().int().nullable().describe('Bytes of its files; null where that is not known'),
  types: z.array(z.object({ type: z.string(), count: z.number().int() })),
  main_entity: z
    .object({ id: z.string(), name: z.string().nullable(), types: z.array(z.string()) })
    .nullable(),
  issues: z.array(z.object({ code: z.string(), message: z.string(), count: z.number().int() })),
  root_id: z.string(),
  indexed_at: z.string(),
});

export type CrateSummary = z.output<typeof crateSummarySchema>;

/** `indexedAt` is in milliseconds. */
export function summarizeCrate(
  { place, metadata, fileCount, bytes }: ReadCrate,
  indexedAt: number,
): CrateSummary {
  return {
    crate_id: place.crateId,
    title: metadata.title,
    description: truncateMetadataText(metadata.description, maxSummaryDescriptionLength),
    authors: metadata.authors.slice(0, maxSummaryItems),
    keywords: metadata.keywords.slice(0, maxSummaryItems),
    license: metadata.license === null ? null : { ...metadata.license },
    date_published: metadata.published,
    year: metadata.year,
    identifiers: metadata.identifiers.slice(0, maxSummaryItems),
    spec_version: metadata.spec,
    profiles: metadata.profiles.slice(0, maxSummaryItems),
    kind: place.kind,
    source: place.source,
    resource_locator: place.locator,
    size: toSafeInteger(place.size),
    last_modified: toIsoTimeOrNull(place.modified),
    entity_count: metadata.entities.length,
    file_count: fileCount,
    bytes: bytes === null ? null : toSafeInteger(bytes),
    types: countEntityTypes(metadata.entities),
    main_entity: findMainEntity(metadata),
    issues: [...metadata.issues.map((issue) => ({ ...issue })), ...listShortenedFields(metadata)],
    root_id: metadata.rootId,
    indexed_at: new Date(indexedAt).toISOString(),
  };
}

/** Archives may claim any sizes for their members. A sum that is too large for a number counts as unknown. */
function toSafeInteger(count: number): number | null {
  return Number.isSafeInteger(count) ? count : null;
}

/** An issue for each field that is not shown in full. */
function listShortenedFields(metadata: CrateMetadata): CrateIssue[] {
  const lists = (['authors', 'keywords', 'identifiers', 'profiles'] as const).flatMap((name) => {
    const count = metadata[name].length;
    const message = `Only the first ${maxSummaryItems} of ${count} ${name} are shown. All of them can be searched for.`;
    return count > maxSummaryItems ? [{ code: `${name}_shortened`, message, count }] : [];
  });
  const { length } = metadata.description;
  const message = `Only the first ${maxSummaryDescriptionLength} of ${length} characters of the description are shown.`;
  return length > maxSummaryDescriptionLength
    ? [...lists, { code: 'description_shortened', message, count: 1 }]
    : lists;
}

/** Times come from stores, and may be invalid. */
function toIsoTimeOrNull(milliseconds: number): string | null {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The most common first, then by name, so that the order is stable. */
function countEntityTypes(entities: readonly Entity[]): CrateSummary['types'] {
  const counts = new Map<string, number>();
  for (const { types } of entities) for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return Array.from(counts, ([type, count]) => ({ type, count }))
    .sort((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1))
    .slice(0, maxSummaryTypes);
}

function findMainEntity({ entities, rootId }: CrateMetadata): CrateSummary['main_entity'] {
  const root = entities.find(({ id }) => id === rootId);
  const main = root?.properties.find((property) => property.name === 'mainEntity' && 'target' in property);
  if (main === undefined || !('target' in main)) return null;
  const { id, types, properties } = entities[main.target]!;
  const name = properties.find((property) => property.name === 'name' && 'text' in property);
  return {
    id,
    name: name !== undefined && 'text' in name ? truncateMetadataText(name.text, maxSummaryNameLength) : null,
    types: [...types],
  };
}
