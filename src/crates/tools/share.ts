/**
 * The tools that look into crates and hand them out, and the redaction of the server's folders from what tools answer.
 * Reading and linking are in `contents/`.
 */
import { z } from 'zod';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { externalLinkShape, toLinkAnswer, toLinkTermFields } from '../../links/link-result.ts';
import { defineTool, type Tool, type ToolAnswer } from '../../mcp/tool.ts';
import type { Crates } from '../crates.ts';
import { crateIdSchema, memberPathSchema, toListingAnswer } from './schema.ts';

export interface CrateShareToolsOptions {
  readonly crates: Crates;
  readonly fileTtl: number;
  readonly maxTtl: number;
  readonly baseUrl: () => string;
}

const contentsToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const shareToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};

/** Tools that look into a crate without fetching it, and hand out what is in it. */
export function createShareTools(options: CrateShareToolsOptions): Tool[] {
  return [
    createListCrateFilesTool(options),
    createReadCrateFileTool(options),
    createLinkCrateFileTool(options),
    createDownloadCrateTool(options),
  ];
}

const crateFileSchema = z.object({
  path: z.string(),
  size: z.number().int(),
  compressed_size: z.number().int(),
  last_modified: z.string().nullable(),
});

function createListCrateFilesTool({ crates }: CrateShareToolsOptions): Tool {
  return defineTool({
    name: 'list_crate_files',
    group: 'crates',
    title: 'List the files of a crate',
    description:
      'Lists what a crate holds, with sizes, without fetching it: of an archive only its directory is read, however large it is.',
    input: z.strictObject({
      crate_id: crateIdSchema,
      glob: z
        .string()
        .min(1)
        .max(1000)
        .optional()
        .describe('Only paths that fit: *.csv anywhere, data/*.csv, data/**'),
      limit: z.number().int().min(1).max(5000).default(200),
      offset: z.number().int().min(0).default(0),
    }),
    output: z.object({
      crate_id: z.string(),
      resource_locator: z.string(),
      count: z.number().int().describe('How many there are in all that fit'),
      files: z.array(crateFileSchema),
      next_offset: z.number().int().nullable(),
      unsafe_names: z
        .number()
        .int()
        .describe(
          'Entries of the archive that lead outside of it or have no proper name: they are not listed',
        ),
    }),
    annotations: contentsToolAnnotations,
    auditFields: { subject: ['crate_id'] },
    async handle({ crate_id, glob, limit, offset }, { caller, signal }) {
      const listing = await crates.inside.list(
        caller,
        crate_id,
        { glob: glob ?? null, limit, offset },
        signal,
      );
      const { count, files } = listing;
      const lines = files.slice(0, 50).map(({ path, size }) => `${size} ${JSON.stringify(path)}`);
      const more = count - lines.length;
      return {
        text: [`${count} files`, ...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
        structured: toListingAnswer(crate_id, listing),
      };
    },
  });
}

const readCrateFileSchema = externalLinkShape.partial().extend({
  crate_id: z.string(),
  path: z.string(),
  size: z.number().int(),
  media_type: z.string(),
  text: z.string().optional().describe('The whole file, where it is text and small'),
});

function createReadCrateFileTool(options: CrateShareToolsOptions): Tool {
  const { crates, baseUrl } = options;
  return defineTool({
    name: 'read_crate_file',
    group: 'crates',
    title: 'Read a file of a crate',
    description:
      'Gives one file of a crate: as text where it is text of at most 20,000 bytes, otherwise as a link. Its size and checksum are verified. Only this file is fetched.',
    input: z.strictObject({ crate_id: crateIdSchema, path: memberPathSchema, ...toLinkTermFields(options) }),
    output: readCrateFileSchema,
    annotations: shareToolAnnotations,
    auditFields: { subject: ['path', 'crate_id'], newToken: 'token' },
    async handle(input, { caller, signal }): Promise<ToolAnswer<z.input<typeof readCrateFileSchema>>> {
      const { crate_id, path } = input;
      const read = await crates.inside.read(caller, crate_id, path, signal);
      const told = { crate_id, path, size: read.size, media_type: read.mediaType };
      if (read.text !== null) return { text: read.text, structured: { ...told, text: read.text } };
      const given = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const answer = toLinkAnswer(
        await crates.inside.linkFile(caller, crate_id, path, given, signal),
        baseUrl(),
      );
      return { ...answer, structured: { ...answer.structured, ...told } };
    },
  });
}

function createLinkCrateFileTool(options: CrateShareToolsOptions): Tool {
  const { crates, baseUrl } = options;
  return defineTool({
    name: 'link_crate_file',
    group: 'crates',
    title: 'Share a file of a crate by link',
    description:
      'Gets a link to one file of a crate, past the conversation. One that is stored without compression is sent straight out of the archive, by range where asked; another is unpacked and kept first.',
    input: z.strictObject({ crate_id: crateIdSchema, path: memberPathSchema, ...toLinkTermFields(options) }),
    output: externalLinkShape,
    annotations: shareToolAnnotations,
    auditFields: { subject: ['path', 'crate_id'], newToken: 'token' },
    async handle(input, { caller, signal }) {
      const given = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const shared = await crates.inside.linkFile(caller, input.crate_id, input.path, given, signal);
      return toLinkAnswer(shared, baseUrl());
    },
  });
}

const downloadCrateSchema = externalLinkShape.partial().extend({
  crate_id: z.string(),
  resource_locator: z.string(),
  size: z.number().int(),
  content_base64: z.string().optional().describe('With delivery base64: its bytes'),
});

function createDownloadCrateTool(options: CrateShareToolsOptions): Tool {
  const { crates, baseUrl } = options;
  return defineTool({
    name: 'download_crate',
    group: 'crates',
    title: 'Download a crate',
    description:
      'Hands out a whole crate as a ZIP, by link: of any size, past the conversation. delivery "base64" puts a small one into this answer.',
    input: z.strictObject({
      crate_id: crateIdSchema,
      delivery: z
        .enum(['link', 'base64'])
        .default('link')
        .describe('link: by URL, any size. base64: its bytes in this answer, up to a limit'),
      ...toLinkTermFields(options),
    }),
    output: downloadCrateSchema,
    annotations: shareToolAnnotations,
    auditFields: { subject: ['crate_id'], newToken: 'token' },
    async handle(
      input,
      { caller, signal, progress },
    ): Promise<ToolAnswer<z.input<typeof downloadCrateSchema>>> {
      const { crate_id } = input;
      if (input.delivery === 'base64') {
        const { locator, bytes } = await crates.inside.bytes(caller, crate_id, signal);
        const told = { crate_id, resource_locator: locator, size: bytes.length };
        return {
          text: `${bytes.length} bytes, as base64 in content_base64`,
          structured: { ...told, content_base64: bytes.toString('base64') },
        };
      }
      const given = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const { locator, shared } = await crates.inside.download(caller, crate_id, given, {
        signal,
        report: (done, total) => progress(done, total, 'packing the folder'),
      });
      const answer = toLinkAnswer(shared, baseUrl());
      return { ...answer, structured: { ...answer.structured, crate_id, resource_locator: locator } };
    },
  });
}

/** Users are told of folders of the server by this: `crates/users/ada/x.zip`, and not by the path there. */
export type RedactFolders = (text: string) => string;

/** Where a source is on the server's disk is the operator's business: answers and errors name its last folder alone. */
export function createFolderRedaction(sourceUrls: readonly string[]): RedactFolders {
  const folders = sourceUrls.filter((url) => url.startsWith('file:'));
  return (text) => folders.reduce((shown, url) => shown.replaceAll(url, `${getLastUrlFolder(url)}/`), text);
}

const getLastUrlFolder = (url: string): string => url.split('/').at(-2)!;

/** The tool, whose every text has been through `hide`. */
export function redactToolFolders(tool: Tool, hide: RedactFolders): Tool {
  const hidden = <T>(value: T): T => mapStringsDeep(value, hide) as T;
  return {
    ...tool,
    async handle(input, context) {
      const progress: typeof context.progress = (done, total, message) =>
        context.progress(done, total, message === undefined ? message : hide(message));
      try {
        return hidden(await tool.handle(input, { ...context, progress }));
      } catch (error) {
        if (!isWorkcrateError(error)) throw error;
        const { code, message, cause, details } = error;
        throw new WorkcrateError(code, hide(message), { cause, details: { ...details } });
      }
    },
  };
}

function mapStringsDeep(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((one) => mapStringsDeep(one, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapStringsDeep(one, map)]));
}
