/**
 * The tools that look into crates and hand them out: list_crate_files, read_crate_file and download_crate. Reading and
 * linking are in `contents/`.
 */
import { z } from 'zod';
import { isWorkcrateError } from '../../../platform/errors.ts';
import {
  externalLinkShape,
  linkShape,
  toLinkAnswer,
  toLinkTermFields,
} from '../../../core/links/link-result.ts';
import { hideArguments, listAs, makeText } from '../../../core/offer/schema.ts';
import {
  declareTool,
  type DeclaredTool,
  type ToolAnswer,
  type ToolContext,
} from '../../../core/offer/tool.ts';
import { formatBytes, quoteName } from '../../../platform/text/text.ts';
import { maxInlineTextBytes } from '../contents/inline-text.ts';
import { describeCrateFiles } from './crate-text.ts';
import type { CratesRoom, CrateTerms } from './room.ts';
import {
  crateIdSchema,
  formatLocator,
  makeCount,
  offsetSchema,
  toFileAnswer,
  toListingAnswer,
} from './schema.ts';

/** Tools that look into a crate without downloading it, and hand out what is in it. */
export const declareShareTools = (terms: CrateTerms): DeclaredTool<CratesRoom>[] => [
  declareListCrateFilesTool(terms),
  declareReadCrateFileTool(terms),
  declareDownloadCrateTool(terms),
];

const crateFileSchema = z.object({
  path: z.string(),
  size: z.number().int(),
  compressed_size: z.number().int(),
  last_modified: z.string().nullable(),
});

/** The text shows far fewer: this is for programs. */
const maxFilesPerPage = 10_000;

/** `link_all: false` is for the page, which shows all files itself, and should store no list for being looked at. */
const listInputSchema = hideArguments(
  z.strictObject({
    crate_id: crateIdSchema,
    glob: makeText(1000, 'Such as *.csv (anywhere), data/*.csv, data/**').optional(),
    limit: makeCount(1, maxFilesPerPage, maxFilesPerPage),
    offset: offsetSchema,
    link_all: z.boolean().default(true),
  }),
  ['link_all'],
);

function declareListCrateFilesTool(terms: CrateTerms) {
  return declareTool({
    name: 'list_crate_files',
    view: 'ui://workcrate/crate',
    group: 'crates',
    title: 'List the files of a crate',
    description:
      'List the files of an RO-Crate with their sizes, without downloading it. The text shows up to 50, and a link to the list of all.',
    input: listInputSchema,
    output: z.object({
      crate_id: z.string(),
      resource_locator: z.string(),
      count: z.number().int().describe('How many files are on this page'),
      total: z.number().int().describe('How many match in all'),
      files: z.array(crateFileSchema),
      next: z.number().int().nullable().describe('The offset of the next page; null on the last'),
      unsafe_names: z
        .number()
        .int()
        .describe(
          'How many entries of the archive are not listed, since they lead outside of it or have an invalid name',
        ),
      whole_list: linkShape
        .optional()
        .describe('The list of all that match, as JSON Lines, where the text shows only some'),
    }),
    annotations: { readOnlyHint: true, openWorldHint: terms.hasRemoteSources },
    auditFields: { subject: ['crate_id'] },
    async handle(room: CratesRoom, { crate_id, glob = null, limit, offset, link_all }, { caller, signal }) {
      const listing = await room.crates.inside.list(caller, crate_id, { glob, limit, offset }, signal);
      const structured = toListingAnswer(crate_id, listing);
      const { text, isAll } = describeCrateFiles(listing, offset);
      // Whoever asks for a later page has the link already.
      if (isAll || offset > 0 || !link_all) return { text, structured };
      const whole = await shareWholeList(room, crate_id, glob, { caller, signal });
      return {
        text: `${text}\n${whole.text}`,
        structured: { ...structured, ...(whole.structured === null ? {} : { whole_list: whole.structured }) },
        content: whole.content ?? [],
      };
    },
  });
}

/** Where there is no room for the list, the answer says so and is otherwise the same. */
async function shareWholeList(
  { crates, fileTtl, maxTtl, baseUrl }: CratesRoom,
  crateId: string,
  glob: string | null,
  { caller, signal }: Pick<ToolContext, 'caller' | 'signal'>,
): Promise<ToolAnswer<z.input<typeof linkShape> | null>> {
  const terms = { ttlSeconds: Math.min(fileTtl, maxTtl), singleUse: false };
  const toLine = (file: Parameters<typeof toFileAnswer>[0]) => JSON.stringify(toFileAnswer(file));
  try {
    const shared = await crates.inside.linkList(caller, crateId, { glob, toLine }, terms, signal);
    const answer = toLinkAnswer(shared, baseUrl());
    return { ...answer, text: `The whole list as JSON Lines: ${answer.text}` };
  } catch (error) {
    if (!isWorkcrateError(error, 'quota_exceeded') && !isWorkcrateError(error, 'too_large')) throw error;
    return { text: `There is no link to the whole list: ${error.message}`, structured: null };
  }
}

const readCrateFileSchema = externalLinkShape.partial().extend({
  crate_id: z.string(),
  path: z.string(),
  size: z.number().int(),
  media_type: z.string(),
  text: z.string().optional().describe('The whole file, if it is small and text'),
});

type ReadCrateFileAnswer = ToolAnswer<z.input<typeof readCrateFileSchema>>;

function declareReadCrateFileTool(terms: CrateTerms) {
  return declareTool({
    name: 'read_crate_file',
    view: 'ui://workcrate/table',
    group: 'crates',
    title: 'Read a file of a crate',
    description:
      'Read one file of an RO-Crate, without downloading the rest: as text up to 20,000 bytes, otherwise as a link. execute_code takes crate_files to work with them.',
    input: z.strictObject({
      crate_id: crateIdSchema,
      path: makeText(4096, 'Exactly as list_crate_files shows it'),
      delivery: listAs(z.enum(['text', 'link']).default('text'), {
        type: 'string',
        enum: ['text', 'link'],
        description: 'Default text; link: by URL, whatever its size',
      }),
      ...toLinkTermFields(terms),
    }),
    output: readCrateFileSchema,
    // A link that expires changes nothing that anyone could miss.
    annotations: { readOnlyHint: true, openWorldHint: terms.hasRemoteSources },
    auditFields: { subject: ['path', 'crate_id'], newToken: 'token' },
    async handle({ crates, baseUrl }: CratesRoom, input, { caller, signal }): Promise<ReadCrateFileAnswer> {
      const { crate_id, path, delivery } = input;
      const read = await crates.inside.read(caller, crate_id, path, signal);
      const described = { crate_id, path, size: read.size, media_type: read.mediaType };
      const head = `${quoteName(path)}, ${read.mediaType}`;
      if (read.text !== null && delivery === 'text')
        return {
          text: `${head}, ${formatBytes(read.size)}:\n${read.text}`,
          structured: { ...described, text: read.text },
        };
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const shared = await crates.inside.linkFile(caller, crate_id, path, terms, signal);
      const answer = toLinkAnswer(shared, baseUrl());
      const reason = delivery === 'link' ? '' : ` ${describeWhyNotText(read.size)}`;
      return {
        ...answer,
        text: `${head}.${reason}\n${answer.text}`,
        structured: { ...answer.structured, ...described },
      };
    },
  });
}

const describeWhyNotText = (size: number): string =>
  size > maxInlineTextBytes ? 'Too large to show as text.' : 'Not shown: it is not UTF-8 text.';

const downloadCrateSchema = externalLinkShape.partial().extend({
  crate_id: z.string(),
  resource_locator: z.string(),
  size: z.number().int(),
  content_base64: z.string().optional().describe('With delivery base64: its bytes'),
});

function declareDownloadCrateTool(terms: CrateTerms) {
  return declareTool({
    name: 'download_crate',
    group: 'crates',
    title: 'Download a crate',
    description: 'Get a link to a whole RO-Crate, of any size; a folder comes as a ZIP.',
    input: z.strictObject({
      crate_id: crateIdSchema,
      delivery: listAs(z.enum(['link', 'base64']).default('link'), {
        type: 'string',
        enum: ['link', 'base64'],
        description: 'Default link; base64: the bytes of a small crate in this answer',
      }),
      ...toLinkTermFields(terms),
    }),
    output: downloadCrateSchema,
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: terms.hasRemoteSources,
    },
    mayBeTask: true,
    auditFields: { subject: ['crate_id'], newToken: 'token' },
    async handle(
      { crates, baseUrl }: CratesRoom,
      input,
      { caller, signal, progress },
    ): Promise<ToolAnswer<z.input<typeof downloadCrateSchema>>> {
      const { crate_id } = input;
      if (input.delivery === 'base64') {
        const { locator, bytes } = await crates.inside.bytes(caller, crate_id, signal);
        const content = bytes.toString('base64');
        return {
          text: `${formatLocator(locator)}, ${bytes.length} bytes as base64:\n${content}`,
          structured: { crate_id, resource_locator: locator, size: bytes.length, content_base64: content },
        };
      }
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const { locator, shared } = await crates.inside.download(caller, crate_id, terms, {
        signal,
        report: (done, total) => progress(done, total, 'packing the folder'),
      });
      const answer = toLinkAnswer(shared, baseUrl());
      return { ...answer, structured: { ...answer.structured, crate_id, resource_locator: locator } };
    },
  });
}
