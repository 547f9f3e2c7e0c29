import type { Dirent } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getErrno } from '../src/platform/errors.ts';

/** Which files below a folder hold that text. */
export async function filesHolding(folder: string, text: string): Promise<string[]> {
  const holding: string[] = [];
  for (const entry of await entriesBelow(folder)) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await bytesOf(path)).includes(text)) holding.push(path);
  }
  return holding;
}

/** All that stands below a folder, looked through again where a part of it went meanwhile. */
export async function entriesBelow(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (getErrno(error) !== 'ENOENT') throw error;
    await access(folder);
    return entriesBelow(folder);
  }
}

/** The server writes on meanwhile: what is gone by now has another name, or none. */
const bytesOf = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: unknown) => {
    if (getErrno(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
