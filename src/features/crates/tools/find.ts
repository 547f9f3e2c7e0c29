/**
 * The tools that find crates: search_index, search_by_entity, list_searchable_fields and get_crate. The search itself is
 * in `index/` and `semantic/`; what models read of it is written in `search-text.ts` and `crate-text.ts`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../../platform/errors.ts';
import { hideArguments, listAs, makeText } from '../../../core/offer/schema.ts';
import { declareTool, type DeclaredTool } from '../../../core/offer/tool.ts';
import type { FieldList } from '../index/reading.ts';
import { crateSummarySchema } from '../metadata/summary.ts';
import { describeCrate } from './crate-text.ts';
import type { CratesRoom, CrateTerms } from './room.ts';
import { crateIdSchema, makeCount, toSearchAnswer } from './schema.ts';
import { describeEntitySearch, describeFields, describeSearch } from './search-text.ts';

const findToolAnnotations = { readOnlyHint: true, openWorldHint: false };

/** Tools that find crates and describe one. */
export const declareFindTools = (terms: CrateTerms): DeclaredTool<CratesRoom>[] => [
  declareSearchIndexTool(terms),
  searchByEntityTool,
  listSearchableFieldsTool,
  getCrateTool,
];

const maxQueryLength = 10_000;
const maxSearchOffset = 10_000;
const searchOffsetSchema = makeCount(0, maxSearchOffset, 0);
const maxSearchLimit = 100;

const foundCrateSchema = z.object({
  crate_id: z.string(),
  title: z.string(),
  description: z.string(),
  resource_locator: z.string(),
  authors: z.array(z.string()),
  year: z.number().int().nullable(),
});

const rankedCrateSchema = foundCrateSchema.extend({
  score: z.number(),
  snippet: z.string().describe('The text around a match, with the words that match between ** and **'),
  matched_in: z.array(z.string()),
});

const facetCountsSchema = z.record(
  z.string(),
  z.array(z.object({ value: z.string(), count: z.number().int() })),
);

/** Each filter is a condition of the query. */
const maxFieldFilters = 32;
const fieldFiltersSchema = z
  .record(z.string(), z.string(), 'field_filters takes an object of text to text, such as {"license": "MIT"}')
  .refine(
    (filters) => Object.keys(filters).length <= maxFieldFilters,
    `field_filters takes at most ${maxFieldFilters} fields`,
  )
  .default({});

/** `count_texts` is for the page: authors and keywords are counted too, which an agent has no use for. */
const searchInputSchema = hideArguments(
  z.strictObject({
    query: z
      .string()
      .refine(({ length }) => length <= maxQueryLength, `takes at most ${maxQueryLength} characters`)
      .describe('Words, "a phrase", prefix*, -without, author:name, Person.name:value; empty: all'),
    mode: listAs(z.enum(['keyword', 'semantic', 'hybrid']).default('hybrid'), {
      type: 'string',
      enum: ['keyword', 'semantic', 'hybrid'],
      description: 'The words themselves, their meaning, or both (default)',
    }),
    field_filters: listAs(fieldFiltersSchema, {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Such as {"type": "ComputationalWorkflow", "year": "2020..2023"}',
    }),
    limit: makeCount(1, maxSearchLimit, 10, `Default 10, at most ${maxSearchLimit}`),
    offset: searchOffsetSchema,
    count_texts: z.boolean().default(false),
  }),
  ['count_texts'],
);

function declareSearchIndexTool({ usesEmbeddingsApi }: CrateTerms) {
  return declareTool({
    name: 'search_index',
    view: 'ui://workcrate/crate',
    group: 'crates',
    title: 'Search crates',
    description:
      'Find a dataset, workflow or other research data (RO-Crate) by words, by meaning, or both, in title, description, authors, keywords, names of entities and files.',
    searchHint: 'find dataset, research data, workflow, ro-crate, publication',
    input: searchInputSchema,
    output: z.object({
      query: z.string(),
      mode: z.enum(['keyword', 'semantic', 'hybrid']),
      total: z.number().int(),
      count: z.number().int(),
      results: z.array(rankedCrateSchema),
      facets: facetCountsSchema,
      next_offset: z.number().int().nullable(),
      notes: z.array(z.string()),
    }),
    annotations: { readOnlyHint: true, openWorldHint: usesEmbeddingsApi },
    auditFields: { subject: [] },
    async handle({ crates }: CratesRoom, input, { caller, signal }) {
      const { query, mode, limit, offset } = input;
      const filters = Object.entries(input.field_filters);
      const request = { query, mode, filters, limit, offset, countsTexts: input.count_texts };
      const page = await crates.search(caller, request, signal);
      return { text: describeSearch(page, offset), structured: toSearchAnswer(query, page) };
    },
  });
}

const searchByEntityTool = declareTool({
  name: 'search_by_entity',
  view: 'ui://workcrate/crate',
  group: 'crates',
  title: 'Search crates by an entity',
  description:
    'Find crates by an entity in their metadata: its type, a property and the value, such as Person, affiliation.name, University of Oslo.',
  input: z.strictObject({
    type_name: makeText(500, 'Such as Person or File; * for any'),
    prop_path: makeText(500, 'A property, or a path along references: author.affiliation.name'),
    prop_value: makeText(2000),
    entry_field: makeText(100, 'A field of the crate that must match entry_value too').optional(),
    entry_value: makeText(2000).optional(),
    exact: listAs(z.boolean().default(true), {
      type: 'boolean',
      description: 'Default true; false: any part of the value, ignoring case',
    }),
    limit: makeCount(1, maxSearchLimit, 50, `Default 50, at most ${maxSearchLimit}`),
    offset: searchOffsetSchema,
  }),
  output: z.object({
    total: z.number().int().nullable().describe('null if there are too many to count'),
    count: z.number().int(),
    results: z.array(foundCrateSchema),
    next_offset: z.number().int().nullable(),
    notes: z.array(z.string()),
  }),
  annotations: findToolAnnotations,
  auditFields: { subject: [] },
  async handle({ crates }: CratesRoom, input, { caller, signal }) {
    if ((input.entry_field === undefined) !== (input.entry_value === undefined))
      throw new WorkcrateError(
        'invalid_input',
        'entry_field and entry_value go together: give both or neither.',
      );
    const page = await crates.byEntity(
      caller,
      {
        type: input.type_name,
        path: input.prop_path,
        value: input.prop_value,
        entry:
          input.entry_field === undefined ? null : { field: input.entry_field, value: input.entry_value! },
        exact: input.exact,
        limit: input.limit,
        offset: input.offset,
      },
      signal,
    );
    const results = page.results.map(({ crateId, locator, authors, ...found }) => ({
      crate_id: crateId,
      ...found,
      resource_locator: locator,
      authors: [...authors],
    }));
    return {
      text: [describeEntitySearch(page, input.offset), ...page.notes.map((note) => `Note: ${note}`)].join(
        '\n',
      ),
      structured: {
        total: page.total,
        count: results.length,
        results,
        next_offset: page.next,
        notes: page.notes,
      },
    };
  },
});

const listSearchableFieldsTool = declareTool({
  name: 'list_searchable_fields',
  group: 'crates',
  title: 'List what can be searched',
  description:
    'What search_index and search_by_entity can search: fields, filters with their values, types of entities with their properties.',
  input: z.strictObject({
    name: makeText(500, 'One filter or type, with all of its values or properties').optional(),
  }),
  output: z.object({
    fields: z.array(z.object({ name: z.string(), weight: z.number(), description: z.string() })),
    filters: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        values: z.array(z.object({ value: z.string(), count: z.number().int() })),
      }),
    ),
    entities: z.array(
      z.object({ type: z.string(), crates: z.number().int(), properties: z.array(z.string()) }),
    ),
  }),
  annotations: findToolAnnotations,
  auditFields: { subject: [] },
  async handle({ crates }: CratesRoom, { name }, { caller, signal }) {
    const all = await crates.fields(caller, signal);
    const shown = name === undefined ? all : selectField(all, name);
    return { text: describeFields(shown, name !== undefined), structured: shown };
  },
});

/** What the list says of one field, filter or type. */
function selectField({ fields, filters, entities }: FieldList, wanted: string): FieldList {
  const isWanted = (name: string): boolean => name.toLowerCase() === wanted.trim().toLowerCase();
  const selected = {
    fields: fields.filter(({ name }) => isWanted(name)),
    filters: filters.filter(({ name }) => isWanted(name)),
    entities: entities.filter(({ type }) => isWanted(type)),
  };
  if (Object.values(selected).some(({ length }) => length > 0)) return selected;
  throw new WorkcrateError(
    'not_found',
    'There is no field, filter or common type of this name. Call list_searchable_fields without a name to see which there are.',
  );
}

export const getCrateTool = declareTool({
  name: 'get_crate',
  view: 'ui://workcrate/crate',
  group: 'crates',
  title: 'Describe a crate',
  description:
    'Describe one RO-Crate (dataset): title, authors, licence, dates, types of entities, size, where it is, problems of its metadata.',
  input: z.strictObject({ crate_id: crateIdSchema }),
  output: crateSummarySchema,
  annotations: findToolAnnotations,
  auditFields: { subject: ['crate_id'] },
  async handle({ crates }: CratesRoom, { crate_id }, { caller, signal }) {
    const summary = await crates.get(caller, crate_id, signal);
    return { text: describeCrate(summary), structured: summary };
  },
});
