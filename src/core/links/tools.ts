/**
 * The MCP tools that bring files in and hand them out: `request_upload`, `share_file`, `bundle_files`, and those of
 * `status-tools.ts`. They check arguments and write answers; the work is done by `links.ts` and `uploads.ts`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { isMediaType, type Files } from '../files/files.ts';
import type { LocalFiles } from '../files/local-files.ts';
import { listAs, makeText, makeWholeNumber } from '../offer/schema.ts';
import { declareTool, type DeclaredTool } from '../offer/tool.ts';
import { maxBatchFiles } from './batch.ts';
import {
  toLinkAnswer,
  linkShape,
  toLinkTermFields,
  formatExpiry,
  type LinkTermBounds,
} from './link-result.ts';
import type { Links } from './links.ts';
import { linkStatusTool, revokeLinkTool } from './status-tools.ts';
import type { Uploads } from './uploads.ts';

export interface LinksRoom {
  readonly files: Files;
  readonly links: Links;
  readonly uploads: Uploads;
  readonly localFiles: LocalFiles;
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
export const declareLinkTools = (terms: LinkTermBounds): DeclaredTool<LinksRoom>[] => [
  declareRequestUploadTool(terms),
  declareShareFileTool(terms),
  declareBundleFilesTool(terms),
  linkStatusTool,
  revokeLinkTool,
];

/** What `request_upload` answers. */
export const requestedUploadShape = z.object({
  uploadUrl: z.string(),
  token: z.string(),
  expiresAt: z.string(),
  maxFiles: z.number().optional().describe('Where it takes several files'),
});

function declareRequestUploadTool(terms: LinkTermBounds) {
  return declareTool({
    name: 'request_upload',
    view: 'ui://workcrate/file-picker',
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
      ttl_seconds: toLinkTermFields(terms).ttl_seconds,
      max_files: makeWholeNumber(
        1,
        maxBatchFiles,
        `Default 1. Up to ${maxBatchFiles}: a page where a person sends several`,
      ).optional(),
    }),
    output: requestedUploadShape,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['filename'], newToken: 'token' },
    async handle(room: LinksRoom, input, { caller }) {
      const { max_files: maxFiles = 1 } = input;
      if (maxFiles > 1 && [input.size, input.sha256, input.media_type].some((one) => one !== undefined))
        throw new WorkcrateError('invalid_input', 'size, sha256 and media_type are those of one file.');
      const { token, upload } = await room.uploads.request(caller, {
        filename: input.filename,
        maxFiles: maxFiles > 1 ? maxFiles : undefined,
        size: input.size ?? null,
        sha256: input.sha256?.toLowerCase() ?? null,
        mediaType: input.media_type ?? null,
        keepSeconds: input.ttl_seconds,
      });
      const uploadUrl = `${room.baseUrl()}/uploads/${token}`;
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

function declareShareFileTool(terms: LinkTermBounds) {
  return declareTool({
    name: 'share_file',
    view: 'ui://workcrate/table',
    group: 'files',
    title: 'Share a file by link',
    description:
      'Gives a link from which a person or a program downloads a stored file, outside the conversation.',
    input: z.strictObject({
      file_id: fileId.optional(),
      path: makeText(4096, 'Instead, over stdio only: a file below the allowed folders').optional(),
      ...toLinkTermFields(terms),
    }),
    output: linkShape,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    auditFields: { subject: ['path', 'file_id'], newToken: 'token' },
    async handle(room: LinksRoom, input, { caller, sharesMachine, signal }) {
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      if ((input.file_id === undefined) === (input.path === undefined))
        throw new WorkcrateError('invalid_input', 'Give either file_id or path.');
      if (input.path !== undefined && !sharesMachine)
        throw new WorkcrateError(
          'unsupported',
          'Paths can be shared over stdio only, and not by code of a run. Send the file with request_upload, then share its file_id.',
        );
      const id =
        input.file_id ?? (await room.localFiles.take(caller, input.path!, input.ttl_seconds, signal)).id;
      return toLinkAnswer(await room.links.share(caller, id, terms), room.baseUrl());
    },
  });
}

function declareBundleFilesTool(terms: LinkTermBounds) {
  return declareTool({
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
      ...toLinkTermFields(terms),
    }),
    output: linkShape,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    mayBeTask: true,
    auditFields: { subject: ['filename'], files: ['file_ids'], newToken: 'token' },
    async handle(room: LinksRoom, input, { caller, signal, progress }) {
      const terms = { ttlSeconds: input.ttl_seconds, singleUse: input.single_use };
      const report = throttleProgress((done, total) => progress(done, total, 'hashing the archive'));
      const shared = await room.links.bundle(caller, input.file_ids, input.filename, terms, {
        signal,
        report,
      });
      return toLinkAnswer(shared, room.baseUrl());
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
