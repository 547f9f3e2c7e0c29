import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../src/errors.ts';

/** Which files below a folder hold that text. */
export async function filesHolding(folder: string, text: string): Promise<string[]> {
  const holding: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await bytesOf(path)).includes(text)) holding.push(path);
  }
  return holding;
}

/** The server writes on meanwhile: what is gone by now has another name, or none. */
const bytesOf = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
