import { mkdir, open, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { demandSpace } from '../disk-reserve.ts';
import { errnoOf } from '../errors.ts';
import { keysBelow } from './disk-listing.ts';
import { createOpenFiles, type OpenFiles } from './disk-open-files.ts';
import { readChunks } from './disk-reading.ts';
import { diskQuarantine } from './disk-quarantine.ts';
import { diskStaging } from './disk-staging.ts';
import { storing } from './failures.ts';
import { checkKey } from './keys.ts';
import type { OpenObject, Storage, StoredObject } from './storage.ts';
import { syncFolder } from './sync-folder.ts';

/**
 * Keeps objects as files below `directory`: `objects/KEY.bin` and `staging/ID.part`. The ending keeps an
 * object `a` apart from the folder of an object `a/b`. One process at a time may use a directory.
 */
export async function diskStorage(directory: string): Promise<Storage> {
  const folder = join(directory, 'objects');
  await storing(() => mkdir(folder, { recursive: true, mode: 0o700 }));
  const localPath = (key: string): string => `${checkKey(key)}.bin`;
  const pathOf = (key: string): string => `${folder}/${localPath(key)}`;
  const staging = await diskStaging(join(directory, 'staging'), pathOf);
  const openFiles = createOpenFiles();
  return {
    kind: 'disk',
    isShared: false,
    isLasting: true,
    holdsRemoved: true,
    staging: {
      ...staging,
      async takeBack(key, id) {
        const isBack = await staging.takeBack(key, id);
        if (isBack) openFiles.forget(pathOf(key));
        return isBack;
      },
    },
    stat: (key) => storing(() => statObject(key, pathOf(key))),
    open: (key) => storing(async () => openObject(openFiles, pathOf(key))),
    list: (options = {}) => storing(() => listPage(folder, pathOf, options)),
    remove: (key) => storing(() => removeObject(openFiles, pathOf(key))),
    presign: async () => null,
    localPath,
    quarantine: diskQuarantine(directory, localPath),
    demandSpace: (bytes) => storing(() => demandSpace(folder, bytes)),
    probe: () => storing(() => probe(join(directory, 'staging'))),
    close: async () => openFiles.close(),
  };
}

async function statObject(key: string, path: string): Promise<StoredObject | null> {
  const found = await absentAsNull(stat(path));
  return found && { key, size: found.size, modified: found.mtimeMs };
}

function openObject(openFiles: OpenFiles, path: string): OpenObject | null {
  const file = openFiles.take(path);
  if (file === null) return null;
  return {
    size: file.size,
    descriptor: file.descriptor,
    read: (start, end, signal) => readChunks(file.descriptor, start, end, signal),
    [Symbol.asyncDispose]: async () => openFiles.giveBack(file),
  };
}

async function listPage(
  folder: string,
  pathOf: (key: string) => string,
  { prefix = '', after = '', limit = 1000 }: { prefix?: string; after?: string; limit?: number },
) {
  const objects: StoredObject[] = [];
  for await (const key of keysBelow(folder, prefix, after)) {
    if (objects.length === limit) return { objects, next: objects.at(-1)!.key };
    const object = await statObject(key, pathOf(key));
    if (object) objects.push(object);
  }
  return { objects, next: null };
}

async function removeObject(openFiles: OpenFiles, path: string): Promise<void> {
  const removed = await absentAsNull(unlink(path).then(() => true));
  // Only now: a reader that came before the removal may have had it held again.
  openFiles.forget(path);
  if (removed) await syncFolder(dirname(path));
}

/**
 * Writes and drops a byte: a full or read-only disk shows here before an upload fails on it. The reserve may be used for
 * it: who can no longer send files can still fetch and delete them.
 */
async function probe(folder: string): Promise<void> {
  const path = join(folder, `probe-${process.pid}-${process.hrtime.bigint()}.part`);
  try {
    await using file = await open(path, 'w', 0o600);
    await file.write(new Uint8Array(1));
    await file.sync();
  } finally {
    await absentAsNull(unlink(path));
  }
}

async function absentAsNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}
