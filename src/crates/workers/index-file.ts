import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { getErrno } from '../../errors.ts';

const isIndexFile = (location: string): boolean =>
  !/^postgres(?:ql)?:\/\//i.test(location) && location !== ':memory:';

/** Which file an index is, so that one that took its place is told from it; null where there is none. */
export function identifyIndex(location: string): string | null {
  if (!isIndexFile(location)) return location;
  try {
    const { dev, ino } = statSync(location);
    return `${dev}:${ino}`;
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Damaged ones that are kept, for whoever wants to know what happened to them. */
const maxDamagedIndexes = 2;

/** Moves a damaged index out of the way, unless another has taken its place already. Gives its new name. */
export function setIndexAside(location: string, damaged: string | null): string | null {
  if (damaged === null || !isIndexFile(location) || identifyIndex(location) !== damaged) return null;
  const aside = `${location}.damaged-${new Date().toISOString().replaceAll(/[-:.Z]/g, '')}`;
  renameSync(location, aside);
  // What is in the log belongs to the damaged one, and would damage the next.
  for (const end of ['-wal', '-shm']) rmSync(location + end, { force: true });
  removeOldDamagedIndexes(location);
  return aside;
}

function removeOldDamagedIndexes(location: string): void {
  const [folder, start] = [dirname(location), `${basename(location)}.damaged-`];
  const kept = readdirSync(folder).filter((name) => name.startsWith(start));
  for (const name of kept.sort().slice(0, -maxDamagedIndexes)) rmSync(join(folder, name), { force: true });
}

/** The log of an index that was deleted alone would be taken for that of the next one. */
export function removeLogOfDeletedIndex(location: string): void {
  if (identifyIndex(location) !== null) return;
  for (const end of ['-wal', '-shm']) rmSync(location + end, { force: true });
}
