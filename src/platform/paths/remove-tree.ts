import { execFile } from 'node:child_process';
import { rmdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { getErrno } from '../errors.ts';

/**
 * Removes a folder of the server's in which hostile code has run, with all that is below. By `rm`, which goes by
 * descriptors: a process that got away can swap what is below for links, and nothing outside is removed.
 */
export async function removeTree(directory: string): Promise<void> {
  if (isRemovedEmpty(directory)) return;
  // Other systems' rm has no such option.
  const options = process.platform === 'linux' ? ['--one-file-system'] : [];
  await promisify(execFile)('rm', ['-rf', ...options, '--', directory]);
}

/** Most are empty, or not there, and to start a program takes longer than the rest of a checkpoint. */
function isRemovedEmpty(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    return getErrno(error) === 'ENOENT';
  }
}
