/**
 * The artifacts and files of the caller that a document may use, by name. It checks scopes and sizes, not contents:
 * `pictures.ts` does that for pictures.
 */
import type { Artifacts } from '../../core/artifacts/artifacts.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Files, StoredFile } from '../../core/files/files.ts';
import type { ToolContext } from '../../core/offer/tool.ts';
import { collectBytes } from '../../platform/streams.ts';
import { defaultPictureLimits } from './pictures.ts';
import type { WantedPicture } from './sanitize/markdown.ts';

/** What a document may use of the caller's artifacts and files, by name. */
export interface UserFiles {
  /** Null if there is none; `too_large` beyond `most` bytes. */
  artifact(name: string, most: number): Promise<Uint8Array | null>;
  /** By file_id or, the newest, by name. */
  file(nameOrId: string, most: number): Promise<Uint8Array | null>;
}

export interface UserFilesOptions {
  readonly artifacts: Pick<Artifacts, 'use'>;
  readonly files: Pick<Files, 'find' | 'newestNamed' | 'open'>;
}

/** A key without the scopes `artifacts` and `files` finds nothing. */
export function openUserFiles(
  { artifacts, files }: UserFilesOptions,
  { caller, mayUse, signal }: Pick<ToolContext, 'caller' | 'mayUse' | 'signal'>,
): UserFiles {
  return {
    async artifact(name, most) {
      if (!mayUse('artifacts')) return null;
      try {
        return await artifacts.use(caller, { name, delivery: 'link', signal }, (artifact) =>
          gatherFileBytes(artifact.bytes(), name, artifact.size, most),
        );
      } catch (error) {
        if (isWorkcrateError(error, 'not_found') || isWorkcrateError(error, 'invalid_input')) return null;
        throw error;
      }
    },
    async file(nameOrId, most) {
      if (!mayUse('files')) return null;
      const isId = /^file_[0-9a-f]{24}$/.test(nameOrId);
      const file = await (isId ? files.find(caller, nameOrId) : files.newestNamed(caller, nameOrId));
      return file && readStoredFile(files, file, most);
    },
  };
}

/** An artifact of that name, or else a file. */
export async function checkUserFile(from: UserFiles, name: string, most: number): Promise<Uint8Array> {
  const found = (await from.artifact(name, most)) ?? (await from.file(name, most));
  if (found !== null) return found;
  throw new WorkcrateError(
    'not_found',
    `There is no ${JSON.stringify(name)} among your artifacts and files. list_artifacts and list_files show what there is.`,
  );
}

/** Reads the pictures that exist, by the names in the document. Their contents are checked later, in `pictures.ts`. */
export async function readUserPictures(
  wanted: readonly WantedPicture[],
  from: UserFiles,
  signal: AbortSignal,
): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  let room = defaultPictureLimits.allBytes;
  for (const { wanted: name } of wanted) {
    signal.throwIfAborted();
    const most = Math.min(room, defaultPictureLimits.eachBytes);
    const bytes = (await from.artifact(name, most)) ?? (await from.file(name, most));
    if (bytes === null) continue;
    room -= bytes.length;
    found.set(name, bytes);
  }
  return found;
}

async function readStoredFile(files: UserFilesOptions['files'], file: StoredFile, most: number) {
  await using object = await files.open(file);
  if (object === null)
    throw new WorkcrateError('bytes_gone', `The bytes of ${file.name} are gone. Upload the file again.`);
  return await gatherFileBytes(object.read(0, object.size), file.name, object.size, most);
}

async function gatherFileBytes(bytes: AsyncIterable<Uint8Array>, name: string, size: number, most: number) {
  if (size > most)
    throw new WorkcrateError(
      'too_large',
      `${JSON.stringify(name)} has ${size} bytes; a document can use at most ${most}.`,
    );
  return new Uint8Array(await collectBytes(bytes));
}
