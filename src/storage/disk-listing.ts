import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';

/** The keys below a folder in the order of the keys themselves, one folder in memory at a time. */
export async function* keysBelow(
  folder: string,
  prefix: string,
  after: string,
  parent = '',
): AsyncGenerator<string> {
  for (const part of await sortedParts(folder)) {
    const key = parent + part;
    if (part.endsWith('/')) {
      const mayHold = (key.startsWith(prefix) || prefix.startsWith(key)) && `${key}\uffff` > after;
      if (mayHold) yield* keysBelow(join(folder, part), prefix, after, key);
    } else if (key.startsWith(prefix) && key > after) yield key;
  }
}

/** Folders carry their slash, so that `a/b` sorts against `a-b` as the whole keys do. */
async function sortedParts(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() || entry.name.endsWith('.bin'))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name.slice(0, -'.bin'.length)))
      .sort();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
