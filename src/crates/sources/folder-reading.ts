import { fstatSync, read, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { OpenFile } from '../../paths/paths.ts';
import { crateChanged, crateGone, type OpenSourceObject, type SourceObject } from '../../storage/source.ts';
import {
  absentIn,
  componentsOf,
  folderFailure,
  isAbsence,
  objectOf,
  stampOf,
  type Folder,
} from './folder.ts';

const readAt = promisify(read);
const chunkBytes = 512 * 1024;

export function statFile(folder: Folder, name: string): SourceObject | null {
  using file = opened(folder, name);
  return file && objectOf(name, statsOf(file));
}

export function openFile(folder: Folder, name: string): OpenSourceObject | null {
  const file = opened(folder, name);
  if (file === null) return null;
  const object = objectOf(name, statsOf(file));
  let isOpen = true;
  const check = (): void => {
    // By now the number may be another's file.
    if (!isOpen) throw new WorkcrateError('internal', 'A file of a source was read after it was closed.');
    if (stampOf(statsOf(file)) !== object.stamp) throw otherThan(folder, name);
  };
  return {
    object,
    size: object.size,
    // Bytes that the kernel sends on its own could not be judged.
    descriptor: null,
    read: (start, end, signal) => readChunks(folder, file.fd, { start, end }, check, signal),
    async [Symbol.asyncDispose]() {
      isOpen = false;
      file[Symbol.dispose]();
    },
  };
}

const statsOf = ({ fd }: OpenFile): BigIntStats => fstatSync(fd, { bigint: true });

/** One that the server may not read is a matter of that file alone: it waits until somebody changes its mode. */
function opened(folder: Folder, name: string): OpenFile | null {
  try {
    return folder.root.open(componentsOf(name));
  } catch (error) {
    if (isAbsence(error)) return absentIn(folder);
    if (isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'denied')
      throw new WorkcrateError(
        'unsupported',
        `The server may not read ${JSON.stringify(name)} in ${folder.url}. Give its user the right to.`,
        { cause: error },
      );
    throw error;
  }
}

/** A name that leads to another file, or to none, by now. */
function otherThan(folder: Folder, name: string): WorkcrateError {
  return statFile(folder, name) === null ? crateGone(folder.url, name) : crateChanged(folder.url, name);
}

/** What was read is judged after it was read, and before it is passed on. One buffer serves for all chunks. */
async function* readChunks(
  folder: Folder,
  fd: number,
  { start, end }: { start: number; end: number },
  check: () => void,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, Math.max(0, end - start)));
  try {
    for (let position = start; position < end;) {
      signal?.throwIfAborted();
      check();
      const { bytesRead } = await readAt(fd, buffer, 0, Math.min(chunkBytes, end - position), position);
      check();
      if (bytesRead === 0)
        throw new WorkcrateError('internal', 'Bytes beyond the end of a file were asked for.');
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw folderFailure(folder, error);
  }
}
