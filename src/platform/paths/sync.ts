import { execFile } from 'node:child_process';
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { promisify } from 'node:util';

/**
 * Waits until everything that was written to the file system of a folder is on its disk, whoever wrote it and however
 * many files there are. By `sync`, since Node has no call for it. Rejects where something could not be written.
 */
export async function syncFileSystem(folder: string): Promise<void> {
  // Other systems' sync takes no folder, and writes all file systems.
  await promisify(execFile)('sync', process.platform === 'linux' ? ['-f', '--', folder] : []);
}

/** Waits until the names in a folder of the server's own are on the disk. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
