/**
 * The tools `search_library` and `bibliography_for`. Documents look up the keys that they cite by themselves, in
 * `documents.ts`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../errors.ts';
import { defineTool, type Tool } from '../../mcp/tool.ts';
import type { FoundReferences, ReferenceLibrary, LibraryItem, WantedReferences } from './library.ts';

export interface LibraryToolsOptions {
  readonly library: ReferenceLibrary | null;
}

const libraryToolAnnotations = { readOnlyHint: true, openWorldHint: true };

/** Without a library there are no tools. */
export const libraryTools = ({ library }: LibraryToolsOptions): Tool[] =>
  library === null ? [] : [searchLibraryTool(library), bibliographyTool(library)];

const collectionNameSchema = z.string().min(1).max(1000);

const libraryItemSchema = z.object({
  key: z.string(),
  citation_key: z.string().nullable(),
  cite_as: z.string().describe('What to write in a document, such as @smith2020'),
  type: z.string(),
  title: z.string(),
  creators: z.string(),
  year: z.number().int().nullable(),
  doi: z.string().nullable(),
  url: z.string().nullable(),
  tags: z.array(z.string()),
  collections: z.array(z.string()),
});

function searchLibraryTool(library: ReferenceLibrary): Tool {
  return defineTool({
    name: 'search_library',
    group: 'documents',
    title: 'Search the library of references',
    description:
      'Finds references in the Zotero library of this server, by words, tag, collection and type. Cite what was found by its citation key or key, such as [@smith2020] or [@ABCD2345]: build_exports_content looks such keys up in the library by itself.',
    input: z.strictObject({
      query: z.string().max(500).default('').describe('Words of title, creators or year; empty: everything'),
      full_text: z.boolean().default(false).describe('Also search everything that the library has indexed'),
      tag: z.string().min(1).max(500).optional().describe('A tag; "a || b" is either, "-a" is without'),
      collection: collectionNameSchema
        .optional()
        .describe('A collection by key, path such as Thesis/Methods, or name'),
      item_type: z
        .string()
        .regex(/^[A-Za-z]{1,40}$/, 'item_type takes a type of Zotero, such as journalArticle')
        .refine(
          (type) => !/^(?:note|attachment|annotation)$/.test(type),
          'notes and attachments are not references',
        )
        .optional()
        .describe('Such as journalArticle, book, thesis, webpage'),
      limit: z.number().int().min(1).max(100).default(25),
      offset: z.number().int().min(0).max(1_000_000).default(0).describe('How many results to skip'),
    }),
    output: z.object({
      total: z.number().int(),
      count: z.number().int(),
      items: z.array(libraryItemSchema),
      next_offset: z.number().int().nullable(),
    }),
    annotations: libraryToolAnnotations,
    auditFields: { subject: [] },
    async handle(
      { query, full_text: everywhere, tag, collection, item_type: itemType, limit, offset },
      { signal },
    ) {
      const { total, items } = await library.search(
        {
          text: query,
          everywhere,
          limit,
          start: offset,
          ...(tag === undefined ? {} : { tag }),
          ...(collection === undefined ? {} : { collection }),
          ...(itemType === undefined ? {} : { itemType }),
        },
        signal,
      );
      const next = items.length > 0 && offset + limit < total ? offset + limit : null;
      return {
        text: [
          `${total} found${next === null ? '' : `, more from offset ${next}`}`,
          ...items.map(describeItem),
        ].join('\n'),
        structured: { total, count: items.length, items: items.map(toItemAnswer), next_offset: next },
      };
    },
  });
}

const toCiteAs = ({ citationKey, key }: LibraryItem): string =>
  /^[\p{L}\p{N}_](?:[\p{L}\p{N}_:.#$%&+?<>~/-]*[\p{L}\p{N}_/])?$/u.test(citationKey ?? key)
    ? `@${citationKey ?? key}`
    : `@${key}`;

function toItemAnswer(item: LibraryItem): z.input<typeof libraryItemSchema> {
  const { key, citationKey, type, title, creators, year, doi, url, tags, collections } = item;
  return {
    key,
    citation_key: citationKey,
    cite_as: toCiteAs(item),
    type,
    title,
    creators,
    year,
    doi,
    url,
    tags: [...tags],
    collections: [...collections],
  };
}

const describeItem = (item: LibraryItem): string =>
  `${toCiteAs(item)} ${item.creators}${item.year === null ? '' : ` (${item.year})`} ${JSON.stringify(item.title)} ${item.type}`;

/** Longer answers do not belong in a conversation. */
const maxBibliographyCharacters = 512 * 1024;
const maxBibliographyInText = 16 * 1024;
const maxBibliographyKeys = 500;

function bibliographyTool(library: ReferenceLibrary): Tool {
  return defineTool({
    name: 'bibliography_for',
    group: 'documents',
    title: 'Get references from the library',
    description:
      'Gives references of the Zotero library as CSL JSON or BibTeX, by keys as search_library shows them, or all of a collection (without those below it). It can go into bibliographyContent of build_exports_content as it is; a document looks up the keys that it cites by itself.',
    input: z.strictObject({
      keys: z
        .array(z.string().min(1).max(200))
        .max(maxBibliographyKeys)
        .default([])
        .describe('Citation keys or keys of items, without @'),
      collection: collectionNameSchema
        .optional()
        .describe('A collection by key, path such as Thesis/Methods, or name'),
      format: z.enum(['csljson', 'bibtex']).default('csljson'),
    }),
    output: z.object({
      format: z.enum(['csljson', 'bibtex']),
      content: z.string(),
      count: z.number().int(),
      missing: z.array(z.string()).describe('Keys that the library does not have'),
      notes: z.array(z.string()),
    }),
    annotations: libraryToolAnnotations,
    auditFields: { subject: [] },
    async handle({ keys, collection, format }, { signal }) {
      const wanted = toWantedReferences(keys, collection);
      const { content, count, missing, notes } =
        format === 'csljson'
          ? toBibliographyAnswer(
              await findAllReferences(wanted, (one) => library.references(one, signal)),
              referencesToJson,
            )
          : toBibliographyAnswer(
              await findAllReferences(wanted, (one) => library.bibtex(one, signal)),
              referencesToBibtex,
            );
      if (content.length > maxBibliographyCharacters)
        throw new WorkcrateError(
          'too_large',
          `These ${count} references have ${content.length} characters; at most ${maxBibliographyCharacters} fit into an answer. Ask for fewer; a document that cites them looks them up by itself.`,
        );
      const lacking = missing.length === 0 ? [] : [`Not in the library: ${missing.join(', ')}`];
      const short =
        content.length > maxBibliographyInText ? [`The ${format} is in the structured content.`] : [content];
      return {
        text: [`${count} references as ${format}.`, ...lacking, ...notes, ...short].join('\n'),
        structured: { format, content, count, missing, notes },
      };
    },
  });
}

function toWantedReferences(keys: readonly string[], collection: string | undefined): WantedReferences[] {
  if (keys.length === 0 && collection === undefined)
    throw new WorkcrateError('invalid_input', 'Give keys, or a collection, or both.');
  return [...(keys.length === 0 ? [] : [keys]), ...(collection === undefined ? [] : [{ collection }])];
}

/** A reference that is found both by key and by collection is returned once. */
async function findAllReferences<T extends { readonly id: string }>(
  wanted: readonly WantedReferences[],
  find: (one: WantedReferences) => Promise<FoundReferences<T>>,
): Promise<FoundReferences<T>> {
  const found: FoundReferences<T>[] = [];
  for (const one of wanted) found.push(await find(one));
  const byId = new Map(found.flatMap(({ references }) => references).map((one) => [one.id, one]));
  return {
    references: [...byId.values()],
    missing: [...new Set(found.flatMap(({ missing }) => missing))],
    notes: [...new Set(found.flatMap(({ notes }) => notes))],
  };
}

function toBibliographyAnswer<T>(
  { references, missing, notes }: FoundReferences<T>,
  write: (references: readonly T[]) => string,
) {
  return { content: write(references), count: references.length, missing: [...missing], notes: [...notes] };
}

const referencesToJson = (references: readonly unknown[]): string => JSON.stringify(references, null, 1);

const referencesToBibtex = (references: readonly { readonly text: string }[]): string =>
  references.map(({ text }) => `${text}\n`).join('\n');
