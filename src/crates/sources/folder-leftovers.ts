import { randomBytes } from 'node:crypto';
import { yieldToEventLoop } from '../../concurrency/yield.ts';
import { isWorkcrateError } from '../../errors.ts';
import { belowRoot, here, joined, parseName, type Components } from '../../paths/paths.ts';
import { ownMark } from '../../storage/source.ts';
import type { Folder } from './folder.ts';

/** A file on its way, which no listing tells. */
export const newPartName = (): string => `${ownMark}${randomBytes(12).toString('hex')}.part`;

const isPartName = (name: string): boolean =>
  name.startsWith(ownMark) && /^[0-9a-f]{24}\.part$/.test(name.slice(ownMark.length));

/** Whoever still writes to one has done so within a day. */
export const leftForMs = 24 * 60 * 60 * 1000;
/** A larger folder is looked through in part: what is not found now is found another time, or does no harm. */
const mostEntries = 10_000;
const atOnce = 256;

/** Removes what a process that died has left in a folder. */
export async function removeLeftovers(folder: Folder, path: Components): Promise<void> {
  const leftovers: Components[] = [];
  let seen = 0;
  for (const { path: name, stats } of folder.root.tree(path, { mostEntries, mostDepth: 0 })) {
    if (name !== null && isPartName(name) && stats.isFile() && Number(stats.mtimeMs) < Date.now() - leftForMs)
      leftovers.push(joined(path, parseName(name)));
    if (++seen % atOnce === 0) await yieldToEventLoop();
  }
  for (const leftover of leftovers) removeIfThere(folder, leftover);
}

export function removeIfThere({ root }: Pick<Folder, 'root'>, path: Components): void {
  try {
    root.remove(path);
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
  }
}

/** Packed crates are in `shared/`, or in `users/NAME/`. */
const mostPackDepth = 2;
const mostPackEntries = 500_000;

/** What packings that were cut off have left in a folder of packed crates, older than so much. */
export function findPackLeftovers(directory: string, olderThanMs: number): string[] {
  const found: string[] = [];
  const before = Date.now() - olderThanMs;
  const options = { mostEntries: mostPackEntries, mostDepth: mostPackDepth };
  for (const { path, stats } of belowRoot(directory).tree(here, options)) {
    const isPart = path !== null && stats.isFile() && isPartName(path.slice(path.lastIndexOf('/') + 1));
    if (isPart && Number(stats.mtimeMs) <= before) found.push(path);
  }
  return found;
}

/** Gives how many there were. */
export function removePackLeftovers(directory: string, olderThanMs: number): number {
  const found = findPackLeftovers(directory, olderThanMs);
  const folder = { root: belowRoot(directory) };
  for (const path of found) removeIfThere(folder, joined(...path.split('/').map(parseName)));
  return found.length;
}
