import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errnoOf } from '../../errors.ts';
import { ownMark } from '../../storage/source.ts';

/** In the folder itself, so that it goes along wherever the folder goes. No listing tells it. */
const nameFile = `${ownMark}source`;
const longestName = 4096;

/**
 * The URL that a folder had when crates were first packed into it. It is written down at that time. Null where that
 * cannot be known: then the folder is known by the URL that it has.
 */
export function lastingNameOf(directory: string): string | null {
  const file = join(directory, nameFile);
  const own = pathToFileURL(resolve(directory)).href.replace(/\/*$/, '/');
  try {
    const name = readFileSync(file, 'utf8').trim();
    return name.startsWith('file:///') && name.endsWith('/') && name.length < longestName ? name : null;
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') return null;
  }
  try {
    writeFileSync(file, `${own}\n`, { mode: 0o600, flag: 'wx' });
    return own;
  } catch (error) {
    // Another server was first, or the folder is not there, or cannot be written to.
    return errnoOf(error) === 'EEXIST' ? lastingNameOf(directory) : null;
  }
}
