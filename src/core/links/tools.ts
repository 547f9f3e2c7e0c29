/**
 * The MCP tools that bring files in and hand them out: `request_upload`, `share_file`, `bundle_files`, and those of
 * `status-tools.ts`. They check arguments and write answers; the work is done by `links.ts` and `uploads.ts`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { isMediaType, type Files } from '../files/files.ts';
import type { LocalFiles } from '../files/local-files.ts';
import { listAs, makeText, makeWholeNumber } from '../offer/schema.ts';
import { defineTool, type Tool } from '../offer/tool.ts';
import { maxBatchFiles } from './batch.ts';
import { toLinkAnswer, linkShape, toLinkTermFields, formatExpiry } from './link-result.ts';
import type { Links } from './links.ts';
import { linkStatus, revokeLink } from './status-tools.ts';
import type { Uploads } from './uploads.ts';

export interface LinkToolsOptions {
  readonly files: Files;
  readonly links: Links;
  readonly uploads: Uploads;
  readonly localFiles: LocalFiles;
  readonly fileTtl: number;
  readonly maxTtl: number;
  /** The base of the URLs handed out. A function, since the port may be known only later. */
  readonly baseUrl: () => string;
}

const fileId = z
  .string()
  .refine(
    (id) => /^file_[0-9a-f]{24}$/.test(id),
    'a file_id looks like file_ and 24 hex digits; list_files shows them',
  );

/** Tools that bring files in and hand them out. */
export function linkTools(options: LinkToolsOptions): Tool[] {
  return [
    requestUpload(options),
    shareFile(options),
    bundleFiles(options),
    linkStatus(options),
    revokeLink(options),
  ];
}

/** What `request_upload` answers. */
export const requestedUploadShape = z.object({
  uploadUrl: z.string(),
  token: z.string(),
  expiresAt: z.string(),
  maxFiles: z.number().optional().describe('Where it takes several files'),
});

function requestUpload(options: LinkToolsOptions): Tool {
  return defineTool({
    name: 'request_upload',
    searchHint: 'send, attach or import a file',
    group: 'files',
    title: 'Request an upload',
    description:
      'Gives the curl command and one-time URL to send a file of any size, outside the conversation. What it prints has the file_id that other tools take.',
    input: z.strictObject({
      filename: makeText(4096),
      size: listAs(z.number().int().min(0), {
        type: 'integer',
        description: 'Bytes; checked on arrival, as sha256 is',
      }).optional(),
      sha256: z
        .string()
        .refine((text) => /^[0-9a-fA-F]{64}$/.test(text), 'sha256 must be 64 hex digits')
        .optional(),
      media_type: z.string().refine(isMediaType, 'media_type must be a type such as text/csv').optional(),
      ttl_seconds: toLinkTermFields(options).ttl_seconds,
      max_files: makeWholeNumber(
        1,
        maxBatchFiles,
        `Default 1. Up to ${maxBatchFiles}: a page where a person sends several`,
      ).optional(),
    }),
    output: requestedUploadShape,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['filename'], newToken: 'token' },
    async handle(input, { caller }) {
      const { max_files: maxFiles = 1 } = input;
      if (maxFiles > 1 && [input.size, input.sha256, input.media_type].some((one) => one !== undefined))
        throw new WorkcrateError('invalid_input', 'size, sha256 and media_type are those of one file.');
      const { token, upload } = await options.uploads.request(caller, {
        filename: input.filename,
        maxFiles: maxFiles > 1 ? maxFiles : undefined,
        size: input.size ?? null,
        sha256: input.sha256?.toLowerCase() ?? null,
        mediaType: input.media_type ?? null,
        keepSeconds: input.ttl_seconds,
      });
      const uploadUrl = `${options.baseUrl()}/uploads/${token}`;
      const expiresAt = new Date(upload.expiresAt).toISOString();
      if (maxFiles > 1)
        return {
          text: `Give this page to the person who sends up to ${maxFiles} files, before ${formatExpiry(upload)}: ${uploadUrl}\nThen curl -sS ${uploadUrl} prints their file_ids.`,
          structured: { uploadUrl, token, expiresAt, maxFiles },
        };
      return {
        text: `Send it once, before ${formatExpiry(upload)}; the answer has its file_id: curl -sS --fail-with-body -T FILE ${uploadUrl}`,
        structured: { uploadUrl, token, expiresAt },
      };
    },
  });
}

function shareFile(options: LinkToolsOptions): Tool {
  return defineTool({
    name: 'share_file',
    group: 'files',
    title: 'Share a file by link',
    description:
      'Gives a link from which a person or a program downloads a stored file, outside the conversation.',
    input: z.strictObject({
      file_id: fileId.optional(),
      path: makeText(4096, 'Instead, over stdio only: a file below the allowed folders').optional(),
      ...toLinkTermFields(options),
    }),
    output: linkShape,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['path', 'file_id'], newToken: 'token' },
    async handle(input, { caller, sharesMachine, signal }) {
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      if ((input.file_id === undefined) === (input.path === undefined))
        throw new WorkcrateError('invalid_input', 'Give either file_id or path.');
      if (input.path !== undefined && !sharesMachine)
        throw new WorkcrateError(
          'unsupported',
          'Paths can be shared over stdio only, and not by code of a run. Send the file with request_upload, then share its file_id.',
        );
      const id =
        input.file_id ?? (await options.localFiles.take(caller, input.path!, input.ttl_seconds, signal)).id;
      return toLinkAnswer(await options.links.share(caller, id, terms), options.baseUrl());
    },
  });
}

function bundleFiles(options: LinkToolsOptions): Tool {
  return defineTool({
    name: 'bundle_files',
    group: 'files',
    title: 'Share many files as one ZIP',
    description: 'Gives one link to many stored files, as a ZIP.',
    input: z.strictObject({
      file_ids: z
        .array(fileId)
        .refine((ids) => ids.length >= 1 && ids.length <= 100_000, 'file_ids takes 1 to 100,000'),
      filename: listAs(z.string().min(1).max(4096).default('files.zip'), {
        type: 'string',
        description: 'Default files.zip',
      }),
      ...toLinkTermFields(options),
    }),
    output: linkShape,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    mayBeTask: true,
    auditFields: { subject: ['filename'], files: ['file_ids'], newToken: 'token' },
    async handle(input, { caller, signal, progress }) {
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const report = throttleProgress((done, total) => progress(done, total, 'hashing the archive'));
      const shared = await options.links.bundle(caller, input.file_ids, input.filename, terms, {
        signal,
        report,
      });
      return toLinkAnswer(shared, options.baseUrl());
    },
  });
}

/** A message for each chunk of 10 GB would cost more than the work that it reports. */
function throttleProgress(
  report: (done: number, total: number) => void,
): (done: number, total: number) => void {
  let next = 0;
  return (done, total) => {
    if (performance.now() < next) return;
    next = performance.now() + 250;
    report(done, total);
  };
}
