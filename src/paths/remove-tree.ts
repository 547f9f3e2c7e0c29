import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Removes a folder of the server's in which hostile code has run, with all that is below. By `rm`, which goes by
 * descriptors: a process that got away can swap what is below for links, and nothing outside is removed.
 */
export async function removeTree(directory: string): Promise<void> {
  // Other systems' rm has no such option.
  const options = process.platform === 'linux' ? ['--one-file-system'] : [];
  await promisify(execFile)('rm', ['-rf', ...options, '--', directory]);
}
