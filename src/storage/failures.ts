import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, WorkcrateError, type ErrorCode } from '../errors.ts';

const known: Record<string, [ErrorCode, string]> = {
  ENOSPC: [
    'storage_full',
    'The disk is full. Free some space or point the files folder at another disk, then try again.',
  ],
  EDQUOT: [
    'storage_full',
    "The disk quota of the server's user is used up. Raise it or free some space, then try again.",
  ],
  EROFS: [
    'storage_read_only',
    'The files folder is read-only. Mount it for writing, or set another files folder.',
  ],
  EACCES: [
    'storage_read_only',
    'The server may not write to its files folder. Give its user the permission.',
  ],
  EPERM: ['storage_read_only', 'The server may not write to its files folder. Give its user the permission.'],
  EMFILE: [
    'out_of_descriptors',
    'The server has no file descriptors left. Try again; raise `ulimit -n` if this goes on.',
  ],
  ENFILE: ['out_of_descriptors', 'The machine has no file descriptors left. Try again later.'],
};

/** Names the cause of a failed file operation where it can be told, so that callers can act on it. */
function storageFailure(error: unknown): WorkcrateError {
  if (error instanceof WorkcrateError) return error;
  if (errnoOf(error) === 'ENOSPC' && isOutOfInodes(error)) return outOfInodes(error);
  const [code, message] = known[errnoOf(error) ?? ''] ?? [
    'storage_failed',
    'The storage failed. See the server log.',
  ];
  return new WorkcrateError(code, message, { cause: error });
}

/** A new name fails in the same way where there is space but no inode. */
function isOutOfInodes(error: unknown): boolean {
  const { path } = error as NodeJS.ErrnoException;
  if (path === undefined) return false;
  try {
    const { files, ffree, bavail } = statfsSync(dirname(path));
    return files > 0 && ffree === 0 && bavail > 0;
  } catch {
    return false;
  }
}

const outOfInodes = (cause: unknown): WorkcrateError =>
  new WorkcrateError(
    'storage_full',
    'The disk has no inodes left: it can hold no more files, however small, although it has space. Delete some files, ' +
      'or point the files folder at another disk, then try again.',
    { cause },
  );

/** Runs a file operation; its failures come out as WorkcrateErrors. */
export async function storing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageFailure(error);
  }
}

export function offsetConflict(size: number): WorkcrateError {
  return new WorkcrateError('offset_conflict', `The upload has ${size} bytes. Continue from there.`, {
    details: { offset: size },
  });
}

export function alreadyExists(key: string): WorkcrateError {
  return new WorkcrateError('already_exists', `The object ${key} already exists.`);
}
