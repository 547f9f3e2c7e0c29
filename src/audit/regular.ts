import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { errnoOf, WorkcrateError } from '../errors.ts';

/** A link, folder, pipe or device stands where a file of the log should. None of ours ever does. */
export class NotAFile extends WorkcrateError {
  constructor(path: string, cause?: unknown) {
    super(
      'storage_failed',
      `${basename(path)} in the folder of the audit log is a link, a folder or a pipe, not a file. Move it away.`,
      { cause },
    );
  }
}

/** Opening a pipe waits for whoever is at its other end, unless it is told not to. */
const never = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** To be read. A link is not followed, and nothing waits. */
export async function openRegular(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDONLY | never).catch((error: unknown) => {
    throw named(path, error);
  });
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new NotAFile(path);
}

export function openRegularSync(path: string, flags: number, mode?: number): number {
  const fd = openNow(path, flags, mode);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new NotAFile(path);
}

function openNow(path: string, flags: number, mode?: number): number {
  try {
    return openSync(path, flags | never, mode);
  } catch (error) {
    throw named(path, error);
  }
}

/** What the system says of links, folders that are to be written, and pipes and sockets that nobody listens at. */
const codes: ReadonlySet<string | null | undefined> = new Set(['ELOOP', 'EISDIR', 'ENXIO']);

const named = (path: string, error: unknown): unknown =>
  codes.has(errnoOf(error)) ? new NotAFile(path, error) : error;
