/**
 * Notices when the data folder or its lock file is removed or replaced while the server runs; readiness then fails. It
 * repairs nothing.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { WorkcrateError } from '../platform/errors.ts';

/** Files that must stay the same while the server runs, and folders that must be there once they have been seen. */
export interface WatchedPaths {
  readonly same: readonly string[];
  readonly present: readonly string[];
}

/** Notices that a file or folder of the server was removed or replaced: what the server then writes would be lost. */
export function watchPaths({ same, present }: WatchedPaths) {
  const seen = new Map<string, bigint>();
  return {
    demandUnchanged(): void {
      for (const path of [...same, ...present]) {
        const inode = statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
        const before = seen.get(path);
        if (before === undefined && inode !== null) seen.set(path, inode);
        const isChanged = same.includes(path) ? inode !== before : inode === null;
        if (before !== undefined && isChanged) throw pathRemovedError(path);
      }
    },
  };
}

const pathRemovedError = (path: string): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    `${basename(path)} in the data folder was removed or replaced while the server runs. Stop the server, put it back, ` +
      'and start again.',
  );
