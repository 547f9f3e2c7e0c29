/**
 * When the data was last backed up. A backup is made by other programs (docs/guide/backup.md), which touch a file in the data
 * folder at their end: its time is all that is known of it.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { getErrno } from '../platform/errors.ts';

const lastBackupFile = 'last-backup';

/** In milliseconds; null where none was recorded. */
export async function readLastBackup(data: string): Promise<number | null> {
  try {
    return (await stat(join(data, lastBackupFile))).mtimeMs;
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return null;
    throw error;
  }
}
