/**
 * Stored files as MCP resources: `workcrate://files/{file_id}`. It shows small texts and pictures, and no other bytes.
 */
import { hash } from 'node:crypto';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import { beginsWith, showBytes, type ListedResource, type DeclaredResources } from '../offer/resource.ts';
import { collectBytes } from '../../platform/streams.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';
import { fileDamagedError, type Files, type StoredFile } from './files.ts';

export const fileResources: DeclaredResources<{ readonly files: Files }> = {
  name: 'file',
  group: 'files',
  title: 'Stored file',
  description: 'A file that was sent to the server or made by it, by its file_id. list_files lists them.',
  template: 'workcrate://files/{file_id}',

  async list({ files }, { after, limit }, { caller }) {
    const page = await files.list(caller, { limit, after });
    return { resources: page.files.map(toFileResource), next: page.next };
  },

  async read({ files }, { file_id: id }, { caller }) {
    const file = await files.find(caller, id!);
    if (file === null)
      throw new WorkcrateError('not_found', 'No file of yours has this id. list_files shows what there is.');
    const { name, size, mediaType } = file;
    const otherwise = `For a link, call share_file with file_id ${file.id}.`;
    return showBytes({ name, size, mediaType, otherwise, read: () => readWholeFile(files, file) });
  },

  complete: async ({ files }, _variable, begun, { caller }) =>
    (await listNewest(files, caller))
      .filter(({ id, name }) => beginsWith(id, begun) || (begun !== '' && beginsWith(name, begun)))
      .map(({ id }) => id),
};

function toFileResource({ id, name, mediaType, size, createdAt, expiresAt }: StoredFile): ListedResource {
  return {
    variables: { file_id: id },
    name,
    description: `${quoteName(name)}, stored file, ${formatBytes(size)}, until ${new Date(expiresAt).toISOString().slice(0, 16)}Z`,
    mimeType: mediaType,
    size,
    modified: createdAt,
  };
}

async function readWholeFile(files: Files, file: StoredFile): Promise<Buffer> {
  await using object = await files.open(file);
  if (object === null)
    throw new WorkcrateError('bytes_gone', `The bytes of ${quoteName(file.name)} are gone. Send it again.`);
  const bytes = await collectBytes(object.read(0, object.size));
  if (hash('sha256', bytes, 'hex') !== file.sha256) throw fileDamagedError(file);
  return bytes;
}

/** People complete what they have just made, and nobody scrolls through more. */
const maxListedLooks = 1000;

const listNewest = async (files: Files, caller: Caller): Promise<StoredFile[]> =>
  (await files.list(caller, { limit: maxListedLooks, after: null })).files;

/** Names of the caller's files that begin like this, newest first. */
export async function completeFileName(files: Files, caller: Caller, begun: string): Promise<string[]> {
  return (await listNewest(files, caller)).map(({ name }) => name).filter((name) => beginsWith(name, begun));
}
