/**
 * The tools that find crates: search_index, search_by_entity, list_searchable_fields and get_crate. The search itself is
 * in `index/` and `semantic/`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../errors.ts';
import { defineTool, type Tool } from '../../mcp/tool.ts';
import type { Crates } from '../crates.ts';
import { crateSummarySchema } from '../metadata/summary.ts';
import { crateIdSchema, toSearchAnswer } from './schema.ts';

const findToolAnnotations = { readOnlyHint: true, openWorldHint: false };

/** Tools that find crates and describe one. */
export function createFindTools(crates: Crates): Tool[] {
  return [
    createSearchIndexTool(crates),
    createSearchByEntityTool(crates),
    createListSearchableFieldsTool(crates),
    createGetCrateTool(crates),
  ];
}

const maxSearchOffset = 10_000;
const paginationFields = {
  offset: z.number().int().min(0).max(maxSearchOffset).default(0).describe('How many results to skip'),
};

const foundCrateSchema = z.object({
  crate_id: z.string(),
  title: z.string(),
  description: z.string(),
  resource_locator: z.string(),
  authors: z.array(z.string()),
  year: z.number().int().nullable(),
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

function createSearchIndexTool(crates: Crates): Tool {
  return defineTool({
    name: 'search_index',
    group: 'crates',
    title: 'Search crates',
    description:
      'Finds research crates (RO-Crates) by words, by meaning, or both. It searches title, description, authors, keywords, entity names and file names; "a phrase", prefix*, -without, field:word and Type.property:value narrow it down. list_searchable_fields lists the fields.',
    input: z.strictObject({
      query: z.string().max(10_000).describe('What to look for; may be empty with field_filters'),
      mode: z
        .enum(['keyword', 'semantic', 'hybrid'])
        .default('hybrid')
        .describe('keyword: the words themselves; semantic: by meaning; hybrid: both'),
      field_filters: z
        .record(
          z.string(),
          z.string(),
          'field_filters takes an object of text to text, such as {"license": "MIT"}',
        )
        .refine(
          (filters) => Object.keys(filters).length <= maxFieldFilters,
          `field_filters takes at most ${maxFieldFilters} fields`,
        )
        .default({})
        .describe(
          'Only crates with these values, such as {"type": "ComputationalWorkflow", "year": "2020..2023"}',
        ),
      limit: z.number().int().min(1).max(100).default(10),
      ...paginationFields,
    }),
    output: z.object({
      query: z.string(),
      mode: z.enum(['keyword', 'semantic', 'hybrid']),
      total: z.number().int(),
      count: z.number().int(),
      results: z.array(foundCrateSchema),
      facets: facetCountsSchema,
      next_offset: z.number().int().nullable(),
      notes: z.array(z.string()),
    }),
    annotations: findToolAnnotations,
    auditFields: { subject: [] },
    async handle(input, { caller, signal }) {
      const { query, mode, limit, offset } = input;
      const filters = Object.entries(input.field_filters);
      const page = await crates.search(caller, { query, mode, filters, limit, offset }, signal);
      const { total, notes, next } = page;
      const lines = page.results.map(({ crateId: id, title }) => `${id} ${JSON.stringify(title)}`);
      return {
        text: [`${total} found${next === null ? '' : `, more from offset ${next}`}`, ...lines, ...notes].join(
          '\n',
        ),
        structured: toSearchAnswer(query, page),
      };
    },
  });
}

function createSearchByEntityTool(crates: Crates): Tool {
  return defineTool({
    name: 'search_by_entity',
    group: 'crates',
    title: 'Search crates by an entity',
    description:
      'Finds crates with an entity of a given type whose property has a given value, such as Person, affiliation.name, "University of Oslo". A path follows references from entity to entity.',
    input: z.strictObject({
      type_name: z
        .string()
        .min(1)
        .max(500)
        .describe('Such as Person, File, ComputationalWorkflow; * for any'),
      prop_path: z.string().min(1).max(500).describe('A property, or a path such as author.affiliation.name'),
      prop_value: z.string().min(1).max(2000),
      entry_field: z
        .string()
        .max(100)
        .optional()
        .describe('A field of the crate itself that must match too, such as license'),
      entry_value: z.string().max(2000).optional().describe('The value of that field'),
      exact: z
        .boolean()
        .default(true)
        .describe('true: the whole value; false: any part of it, ignoring case'),
      limit: z.number().int().min(1).max(100).default(50),
      ...paginationFields,
    }),
    output: z.object({
      total: z.number().int().nullable().describe('null if there are too many to count'),
      count: z.number().int(),
      results: z.array(
        foundCrateSchema.pick({ crate_id: true, title: true, description: true, resource_locator: true }),
      ),
      next_offset: z.number().int().nullable(),
    }),
    annotations: findToolAnnotations,
    auditFields: { subject: [] },
    async handle(input, { caller, signal }) {
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
      const results = page.results.map(({ crateId, title, description, locator }) => ({
        crate_id: crateId,
        title,
        description,
        resource_locator: locator,
      }));
      const lines = results.map((found) => `${found.crate_id} ${JSON.stringify(found.title)}`);
      return {
        text: [
          `${results.length} shown${page.next === null ? '' : `, more from offset ${page.next}`}`,
          ...lines,
        ].join('\n'),
        structured: { total: page.total, count: results.length, results, next_offset: page.next },
      };
    },
  });
}

function createListSearchableFieldsTool(crates: Crates): Tool {
  return defineTool({
    name: 'list_searchable_fields',
    group: 'crates',
    title: 'List what can be searched',
    description:
      'Lists the fields that search_index understands, the values that you can filter by, and the types of entities with their properties.',
    input: z.strictObject({}),
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
    async handle(_input, { caller, signal }) {
      const known = await crates.fields(caller, signal);
      const names = known.fields.map(({ name }) => name).join(', ');
      const filters = known.filters.map(({ name }) => name).join(', ');
      return {
        text: `Fields: ${names}. Filters: ${filters}. Types of entities: ${known.entities.length}.`,
        structured: known,
      };
    },
  });
}

function createGetCrateTool(crates: Crates): Tool {
  return defineTool({
    name: 'get_crate',
    group: 'crates',
    title: 'Describe a crate',
    description:
      'Describes a crate: title, authors, licence, dates, types of its entities, size, where it is, and problems with its metadata.',
    input: z.strictObject({ crate_id: crateIdSchema }),
    output: crateSummarySchema,
    annotations: findToolAnnotations,
    auditFields: { subject: ['crate_id'] },
    async handle({ crate_id }, { caller, signal }) {
      const summary = await crates.get(caller, crate_id, signal);
      const by = summary.authors.length === 0 ? '' : ` by ${summary.authors.slice(0, 5).join(', ')}`;
      const issues = summary.issues.length === 0 ? '' : `, ${summary.issues.length} kinds of issues`;
      return {
        text: `${JSON.stringify(summary.title)}${by}: ${summary.entity_count} entities, ${summary.file_count} files${issues}. ${summary.resource_locator}`,
        structured: summary,
      };
    },
  });
}
