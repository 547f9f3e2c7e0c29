import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from './errors.ts';

const fileIn = (folder: string): string => join(folder, 'url');

/** Notes in the data folder where its server listens, for the commands that ask it. One that was killed leaves it. */
export function noteAddress(folder: string, url: string): Disposable {
  try {
    writeFileSync(fileIn(folder), `${url}\n`, { mode: 0o600 });
  } catch (error) {
    // It is a comfort: a full disk says so soon enough, and `status` still takes --url.
    if (!['ENOSPC', 'EDQUOT', 'EROFS'].includes(errnoOf(error) ?? '')) throw error;
  }
  return { [Symbol.dispose]: () => rmSync(fileIn(folder), { force: true }) };
}

/** Where the server of a data folder listens, or was listening; null where none has noted it. */
export function notedAddress(folder: string): string | null {
  try {
    return readFileSync(fileIn(folder), 'utf8').trim() || null;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '')) return null;
    throw error;
  }
}
