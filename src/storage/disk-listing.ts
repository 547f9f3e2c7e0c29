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

/** What others put here, such as a file manager its own files, is passed over. */
const folderForm = /^[a-z0-9][a-z0-9_-]*$/;
const fileForm = /^[a-z0-9][a-z0-9_-]*\.bin$/;

/** Folders carry their slash, so that `a/b` sorts against `a-b` as the whole keys do. */
async function sortedParts(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => (entry.isDirectory() ? folderForm : fileForm).test(entry.name))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name.slice(0, -'.bin'.length)))
      .sort();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
