/**
 * The MCP tools for stored files: `list_files` and `delete_file`. Sending and sharing are tools of `core/links/`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import { hideArguments, makeText, makeWholeNumber } from '../offer/schema.ts';
import { declareTool, type DeclaredTool } from '../offer/tool.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import type { Files, StoredFile } from './files.ts';
import type { FilePage } from './list.ts';

const listedFileSchema = z.object({
  file_id: z.string(),
  filename: z.string(),
  size: z.number(),
  sha256: z.string(),
  mediaType: z.string(),
  origin: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
});

export interface FilesRoom {
  readonly files: Files;
}

/** What `list_files` answers. */
export const fileListShape = z.object({ files: z.array(listedFileSchema), next: z.string().nullable() });

const listFilesTool = declareTool({
  name: 'list_files',
  group: 'files',
  title: 'List stored files',
  description: 'Lists your stored files, newest first.',
  input: hideArguments(
    z.strictObject({
      text: makeText(200, 'Only files that have this in their name').optional(),
      /** Only this file. */
      file_id: makeText(100).optional(),
      limit: makeWholeNumber(1, 200, 'Default 50, at most 200').optional(),
      after: makeText(100, 'The next of the page before').optional(),
    }),
    ['file_id'],
  ),
  output: fileListShape,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: { subject: ['file_id'] },
  async handle({ files }: FilesRoom, { text, file_id, limit = 50, after = null }, { caller }) {
    const page =
      file_id === undefined
        ? await files.list(caller, { limit, after, text })
        : { files: [await checkFile(files, caller, file_id)], next: null };
    return {
      text: describeFilePage(page, text),
      structured: { files: page.files.map(toFileAnswer), next: page.next },
    };
  },
});

async function checkFile(files: Files, caller: Caller, id: string): Promise<StoredFile> {
  const file = await files.find(caller, id);
  if (file === null) throw createUnknownFileIdError();
  return file;
}

const createUnknownFileIdError = (): WorkcrateError =>
  new WorkcrateError('not_found', 'No file of yours has this id. list_files shows what there is.');

/** The day is said once for all files that are kept until then: most of a page are of one or two days. */
function describeFilePage({ files, next }: FilePage, text: string | undefined): string {
  if (files.length === 0 && next === null)
    return text === undefined
      ? 'There are no files. Send one with request_upload.'
      : `No file has ${quoteName(text)} in its name.`;
  const lines: string[] = [];
  let day = '';
  for (const file of files) {
    const { id, name, size, mediaType, origin } = file;
    const until = new Date(file.expiresAt).toISOString();
    if (until.slice(0, 10) !== day) lines.push(`Kept until ${(day = until.slice(0, 10))}, UTC:`);
    lines.push(
      `${id} ${quoteName(name)}, ${formatBytes(size)}, ${mediaType}, ${origin}, until ${until.slice(11, 16)}`,
    );
  }
  if (files.length > 0) lines.push('The ETag of a link (share_file) is the sha256.');
  if (files.length === 0) lines.push(`None of the newest files has ${quoteName(text ?? '')} in its name.`);
  const again = text === undefined ? '' : 'the same text and ';
  if (next !== null) lines.push(`There are more: list_files with ${again}after ${next}`);
  return lines.join('\n');
}

function toFileAnswer(file: StoredFile): z.input<typeof listedFileSchema> {
  const { name: filename, size, sha256, mediaType, origin } = file;
  const createdAt = new Date(file.createdAt).toISOString();
  const expiresAt = new Date(file.expiresAt).toISOString();
  return { file_id: file.id, filename, size, sha256, mediaType, origin, createdAt, expiresAt };
}

const deleteFileTool = declareTool({
  name: 'delete_file',
  group: 'files',
  title: 'Delete a stored file',
  description: 'Deletes a stored file at once. Links to it stop working.',
  input: z.strictObject({ file_id: makeText(100) }),
  output: z.object({ file_id: z.string(), deleted: z.boolean() }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  auditFields: { subject: ['file_id'] },
  async handle({ files }: FilesRoom, { file_id }, { caller }) {
    if (!(await files.remove(caller, file_id))) throw createUnknownFileIdError();
    return { text: `Deleted ${file_id}.`, structured: { file_id, deleted: true } };
  },
});

/** Tools that look after stored files. */
export const fileTools: readonly DeclaredTool<FilesRoom>[] = [listFilesTool, deleteFileTool];
