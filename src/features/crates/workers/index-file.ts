import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { getErrno } from '../../../platform/errors.ts';

const isIndexFile = (location: string): boolean =>
  !/^postgres(?:ql)?:\/\//i.test(location) && location !== ':memory:';

/** The identity of the index file, to notice that it was replaced; null if there is none. */
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

/** Makes the file, if there is none, for the user of this process alone: SQLite would let everybody read it. */
export function makeIndexFile(location: string): void {
  removeLogOfDeletedIndex(location);
  closeSync(openSync(location, 'a', 0o600));
}

/** How many damaged files are kept for inspection. */
const maxDamagedIndexes = 2;

/** Moves a damaged index aside, unless it was replaced already. Gives its new name. */
export function setIndexAside(location: string, damaged: string | null): string | null {
  if (damaged === null || !isIndexFile(location) || identifyIndex(location) !== damaged) return null;
  const aside = `${location}.damaged-${new Date().toISOString().replaceAll(/[-:.Z]/g, '')}`;
  renameSync(location, aside);
  // The write-ahead log belongs to the damaged file, and would damage the next one.
  for (const end of ['-wal', '-shm']) rmSync(location + end, { force: true });
  removeOldDamagedIndexes(location);
  return aside;
}

function removeOldDamagedIndexes(location: string): void {
  const [folder, start] = [dirname(location), `${basename(location)}.damaged-`];
  const kept = readdirSync(folder).filter((name) => name.startsWith(start));
  for (const name of kept.sort().slice(0, -maxDamagedIndexes)) rmSync(join(folder, name), { force: true });
}

/** Removes the write-ahead log of a deleted index, which SQLite would apply to the next one. */
export function removeLogOfDeletedIndex(location: string): void {
  if (identifyIndex(location) !== null) return;
  for (const end of ['-wal', '-shm']) rmSync(location + end, { force: true });
}
