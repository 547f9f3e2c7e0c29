/**
 * The tools `search_library` and `bibliography_for`. Documents look up the keys that they cite by themselves, in
 * `documents.ts`.
 */
import type { FoundReferences } from 'workcrate/toolkit';
import { z } from 'zod';
import {
  WorkcrateError,
  type Files,
  linkShape,
  toLinkAnswer,
  type Links,
  listAs,
  makeText,
  declareTool,
  type DeclaredTool,
  type ToolAnswer,
  type ToolContext,
  quoteName,
  quoteShort,
  toPlainJson,
} from 'workcrate/toolkit';
import type { ZoteroLibrary, LibraryItem, WantedReferences } from './library.ts';

export interface LibraryRoom extends SharingOptions {
  /** Null where the settings name none: then there are no tools. */
  readonly library: ZoteroLibrary | null;
}

/** For a bibliography that is too long for a conversation. */
interface SharingOptions {
  readonly files: Pick<Files, 'add'>;
  readonly links: Pick<Links, 'share'>;
  readonly fileTtl: number;
  readonly maxTtl: number;
  readonly baseUrl: () => string;
}

const libraryToolAnnotations = { readOnlyHint: true, openWorldHint: true };

const collectionNameSchema = makeText(1000, 'By key, path such as Thesis/Methods, or name');

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

const itemTypeSchema = z
  .string()
  .regex(/^[A-Za-z]{1,40}$/, 'item_type takes a type of Zotero, such as journalArticle')
  .refine(
    (type) => !/^(?:note|attachment|annotation)$/.test(type),
    'notes and attachments are not references',
  );

const searchLibraryTool = declareTool({
  name: 'search_library',
  group: 'documents',
  title: 'Search the library of references',
  description:
    'Find references (papers, books) in the Zotero library of this server. Cite them as [@smith2020]: build_exports_content looks the keys up by itself.',
  input: z.strictObject({
    query: listAs(z.string().max(500).default(''), {
      type: 'string',
      description: 'Words of title, creators or year; empty: everything',
    }),
    full_text: listAs(z.boolean().default(false), {
      type: 'boolean',
      description: 'Also search everything that the library has indexed',
    }),
    tag: makeText(500, '"a || b": either, "-a": without').optional(),
    collection: collectionNameSchema.optional(),
    item_type: listAs(itemTypeSchema, { type: 'string', description: 'Such as journalArticle' }).optional(),
    limit: listAs(z.number().int().min(1).max(100).default(25), {
      type: 'integer',
      description: 'Default 25, at most 100',
    }),
    offset: listAs(z.number().int().min(0).max(1_000_000).default(0), { type: 'integer' }),
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
    { library }: LibraryRoom,
    { query, full_text: everywhere, tag, collection, item_type: itemType, limit, offset },
    { signal },
  ) {
    const { total, items } = await library!.search(
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
        `${total} found${items.length < total ? `, ${items.length} shown` : ''}`,
        ...items.map(describeItem),
        ...(next === null ? [] : [`and ${total - next} more: call again with offset ${next}`]),
      ].join('\n'),
      structured: { total, count: items.length, items: items.map(toItemAnswer), next_offset: next },
    };
  },
});

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

const maxNamesOfItem = 10;

/** What to cite first, then what tells it apart from others. */
function describeItem(item: LibraryItem): string {
  const { key, creators, year, title, type, doi, url, tags, collections } = item;
  const cited = toCiteAs(item);
  const facts = [
    quoteName(type),
    ...(cited === `@${key}` ? [] : [`key ${key}`]),
    ...(doi === null ? [] : [`doi ${quoteName(doi)}`]),
    ...(url === null ? [] : [quoteUrl(url)]),
    ...describeNames('tags', tags),
    ...describeNames('in', collections),
  ];
  const by = creators === '' ? '' : ` ${quoteName(creators)}`;
  return `${cited}${by}${year === null ? '' : ` (${year})`} ${quoteShort(title, 300)}: ${facts.join('; ')}`;
}

const quoteUrl = (url: string): string => (/^[\x21-\x7e]+$/.test(url) ? url : toPlainJson(url));

function describeNames(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length - maxNamesOfItem;
  const shown = names.slice(0, maxNamesOfItem).map(quoteName).join(', ');
  return [`${what} ${shown}${more > 0 ? ` and ${more} more` : ''}`];
}

/** Longer answers do not belong in a conversation. */
const maxBibliographyCharacters = 512 * 1024;
const maxBibliographyInText = 16 * 1024;
const maxBibliographyKeys = 500;

const bibliographySchema = z.object({
  format: z.enum(['csljson', 'bibtex']),
  content: z.string(),
  count: z.number().int(),
  missing: z.array(z.string()).describe('Keys that the library does not have'),
  notes: z.array(z.string()),
  file: linkShape
    .extend({ file_id: z.string() })
    .optional()
    .describe('The same as a file, where it is too long for the text'),
});

type BibliographyAnswer = z.input<typeof bibliographySchema>;

const bibliographyTool = declareTool({
  name: 'bibliography_for',
  group: 'documents',
  title: 'Get references from the library',
  description:
    'Get references of the Zotero library as CSL JSON or BibTeX, by keys as search_library shows them, or all of a collection. A document needs none: it looks up the keys that it cites.',
  input: z.strictObject({
    keys: listAs(z.array(z.string().min(1).max(200)).max(maxBibliographyKeys).default([]), {
      type: 'array',
      items: { type: 'string' },
      description: 'Citation keys or keys of items, without @',
    }),
    collection: collectionNameSchema.optional(),
    format: listAs(z.enum(['csljson', 'bibtex']).default('csljson'), {
      type: 'string',
      enum: ['csljson', 'bibtex'],
    }),
  }),
  output: bibliographySchema,
  annotations: libraryToolAnnotations,
  auditFields: { subject: [] },
  async handle({ library, ...sharing }: LibraryRoom, { keys, collection, format }, context) {
    const { signal } = context;
    const wanted = toWantedReferences(keys, collection);
    const found =
      format === 'csljson'
        ? toBibliographyAnswer(
            await findAllReferences(wanted, (one) => library!.references(one, signal)),
            referencesToJson,
          )
        : toBibliographyAnswer(
            await findAllReferences(wanted, (one) => library!.bibtex(one, signal)),
            referencesToBibtex,
          );
    const { content, count } = found;
    if (content.length > maxBibliographyCharacters)
      throw new WorkcrateError(
        'too_large',
        `These ${count} references have ${content.length} characters; at most ${maxBibliographyCharacters} fit into an answer. Ask for fewer; a document that cites them looks them up by itself.`,
      );
    return describeBibliography({ format, ...found }, sharing, context);
  },
});

/** A long one is a file, which build_exports_content takes as bibliographyFile. */
async function describeBibliography(
  answer: BibliographyAnswer,
  sharing: SharingOptions,
  context: Pick<ToolContext, 'caller' | 'signal'>,
): Promise<ToolAnswer<BibliographyAnswer>> {
  const { format, content, count, missing, notes } = answer;
  const head = [
    `${count} references as ${format}.`,
    ...(missing.length === 0 ? [] : [`Not in the library: ${missing.map(quoteName).join(', ')}`]),
    ...notes,
  ];
  if (content.length <= maxBibliographyInText)
    return { text: [...head, content].join('\n'), structured: answer };
  const { id, link } = await shareBibliography(answer, sharing, context);
  return {
    text: [...head, `Too long to show (${id}): ${link.text}`].join('\n'),
    structured: { ...answer, file: { file_id: id, ...link.structured } },
    content: link.content ?? [],
  };
}

async function shareBibliography(
  { format, content }: BibliographyAnswer,
  { files, links, fileTtl, maxTtl, baseUrl }: SharingOptions,
  { caller, signal }: Pick<ToolContext, 'caller' | 'signal'>,
) {
  const ttlSeconds = Math.min(fileTtl, maxTtl);
  const name = format === 'bibtex' ? 'library.bib' : 'library.json';
  async function* bytes() {
    yield Buffer.from(content);
  }
  const file = { name, origin: 'document', keepSeconds: ttlSeconds };
  const { id } = await files.add(caller, file, bytes(), signal);
  return {
    id,
    link: toLinkAnswer(await links.share(caller, id, { ttlSeconds, singleUse: false }), baseUrl()),
  };
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

export const libraryTools: readonly DeclaredTool<LibraryRoom>[] = [searchLibraryTool, bibliographyTool];
