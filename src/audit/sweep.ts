import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { auditFiles, dayMs, dayOfFile } from './file-names.ts';

/**
 * Removes the files of days that ended before then, and gives their number. The oldest goes first, so that no hole is
 * left when this is ended; the newest stays, since the head names it.
 */
export async function sweepAudit(folder: string, before: number): Promise<number> {
  const files = (await auditFiles(folder)).slice(0, -1);
  const old = files.filter((file) => Date.parse(dayOfFile(file)) + dayMs <= before);
  for (const file of old) await unlink(join(folder, file)).catch(fineIfMissing);
  return old.length;
}

function fineIfMissing(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error;
}
