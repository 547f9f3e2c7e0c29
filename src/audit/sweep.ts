import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { auditFiles, dayMs, dayOfFile } from './file-names.ts';

/**
 * Removes the files of days that ended so many days ago, and gives their number. The oldest goes first, so that no
 * hole is left when this is ended; the newest stays, since the head names it.
 */
export async function sweepAudit(folder: string, now: number, days: number): Promise<number> {
  const files = await auditFiles(folder);
  const ends = files.map((file) => Date.parse(dayOfFile(file)) + dayMs);
  const old = files.slice(0, countOfOld(ends, now, days));
  for (const file of old) await unlink(join(folder, file)).catch(fineIfMissing);
  return old.length;
}

/**
 * A clock that is ahead for a while must not cost the log: it is believed up to the last day that the log has left
 * behind. A day that is still to come was written by such a clock, and goes with the day after it in the log.
 */
function countOfOld(ends: readonly number[], now: number, days: number): number {
  const before = Math.min(now, ends.at(-2) ?? 0) - days * dayMs;
  let count = 0;
  for (const [at, end] of ends.slice(0, -1).entries())
    if (end <= before) count = at + 1;
    else if (end - dayMs <= now) break;
  return count;
}

function fineIfMissing(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error;
}
