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

/** Tools that look into a crate without downloading it, and hand out what is in it. */
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
      'Lists the files of a crate with their sizes, without downloading it: only the directory of an archive is read, however large the archive is.',
    input: z.strictObject({
      crate_id: crateIdSchema,
      glob: z
        .string()
        .min(1)
        .max(1000)
        .optional()
        .describe('Only paths that match: *.csv anywhere, data/*.csv, data/**'),
      limit: z.number().int().min(1).max(5000).default(200),
      offset: z.number().int().min(0).default(0),
    }),
    output: z.object({
      crate_id: z.string(),
      resource_locator: z.string(),
      count: z.number().int().describe('How many files match in all'),
      files: z.array(crateFileSchema),
      next_offset: z.number().int().nullable(),
      unsafe_names: z
        .number()
        .int()
        .describe(
          'How many entries of the archive are not listed, since they lead outside of it or have an invalid name',
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
  text: z.string().optional().describe('The whole file, if it is small and text'),
});

function createReadCrateFileTool(options: CrateShareToolsOptions): Tool {
  const { crates, baseUrl } = options;
  return defineTool({
    name: 'read_crate_file',
    group: 'crates',
    title: 'Read a file of a crate',
    description:
      'Reads one file of a crate: as text if it is text of at most 20,000 bytes, otherwise as a link. Its size and checksum are verified. Only this file is downloaded.',
    input: z.strictObject({ crate_id: crateIdSchema, path: memberPathSchema, ...toLinkTermFields(options) }),
    output: readCrateFileSchema,
    annotations: shareToolAnnotations,
    auditFields: { subject: ['path', 'crate_id'], newToken: 'token' },
    async handle(input, { caller, signal }): Promise<ToolAnswer<z.input<typeof readCrateFileSchema>>> {
      const { crate_id, path } = input;
      const read = await crates.inside.read(caller, crate_id, path, signal);
      const described = { crate_id, path, size: read.size, media_type: read.mediaType };
      if (read.text !== null) return { text: read.text, structured: { ...described, text: read.text } };
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const answer = toLinkAnswer(
        await crates.inside.linkFile(caller, crate_id, path, terms, signal),
        baseUrl(),
      );
      return { ...answer, structured: { ...answer.structured, ...described } };
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
      'Gets a link to one file of a crate, so that its bytes do not go through the conversation. An uncompressed file is sent straight from the archive, and range requests work; a compressed one is unpacked and stored first.',
    input: z.strictObject({ crate_id: crateIdSchema, path: memberPathSchema, ...toLinkTermFields(options) }),
    output: externalLinkShape,
    annotations: shareToolAnnotations,
    auditFields: { subject: ['path', 'crate_id'], newToken: 'token' },
    async handle(input, { caller, signal }) {
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const shared = await crates.inside.linkFile(caller, input.crate_id, input.path, terms, signal);
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
      'Gets a link to a whole crate as a ZIP, of any size, so that its bytes do not go through the conversation. With delivery "base64", a small one is sent in the answer instead.',
    input: z.strictObject({
      crate_id: crateIdSchema,
      delivery: z
        .enum(['link', 'base64'])
        .default('link')
        .describe('link: by URL, any size. base64: its bytes in the answer, up to a limit'),
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
        const described = { crate_id, resource_locator: locator, size: bytes.length };
        return {
          text: `${bytes.length} bytes, as base64 in content_base64`,
          structured: { ...described, content_base64: bytes.toString('base64') },
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

/** Shortens paths of the server in a text: users see `crates/users/ada/x.zip`, not where that is on the disk. */
export type RedactFolders = (text: string) => string;

/** Only the operator needs to know where a source is on the disk: answers and errors name its last folder only. */
export function createFolderRedaction(sourceUrls: readonly string[]): RedactFolders {
  const folders = sourceUrls.filter((url) => url.startsWith('file:'));
  return (text) => folders.reduce((shown, url) => shown.replaceAll(url, `${getLastUrlFolder(url)}/`), text);
}

const getLastUrlFolder = (url: string): string => url.split('/').at(-2)!;

/** Wraps a tool so that every text it answers goes through `hide`. */
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
