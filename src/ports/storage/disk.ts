/**
 * The backend for files of this machine: every object is a file below one folder. It is for one process at a time;
 * `disk-staging.ts` takes uploads in, and `disk-open-files.ts` keeps files open for reading.
 */
import { read } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { checkSpace } from '../../platform/data-folder/disk-reserve.ts';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { createOpenFileCache, type OpenFileCache } from './disk-open-files.ts';
import { diskStaging, syncStorageFolder } from './disk-staging.ts';
import {
  checkKey,
  withStorageErrors,
  type OpenObject,
  type Quarantine,
  type QuarantinedDay,
  type Storage,
  type StoredObject,
} from './storage.ts';

/**
 * Keeps objects as files below `directory`: `objects/KEY.bin` and `staging/ID.part`. The ending keeps an
 * object `a` apart from the folder of an object `a/b`. One process at a time may use a directory.
 */
export async function diskStorage(directory: string): Promise<Storage> {
  const folder = join(directory, 'objects');
  await withStorageErrors(() => mkdir(folder, { recursive: true, mode: 0o700 }));
  const localPath = (key: string): string => `${checkKey(key)}.bin`;
  const toPath = (key: string): string => `${folder}/${localPath(key)}`;
  const staging = await diskStaging(join(directory, 'staging'), toPath);
  const openFiles = createOpenFileCache();
  return {
    kind: 'disk',
    isShared: false,
    isLasting: true,
    holdsRemoved: true,
    staging: {
      ...staging,
      async takeBack(key, id) {
        const isBack = await staging.takeBack(key, id);
        if (isBack) openFiles.forget(toPath(key));
        return isBack;
      },
    },
    stat: (key) => withStorageErrors(() => statDiskObject(key, toPath(key))),
    open: (key) => withStorageErrors(async () => openDiskObject(openFiles, toPath(key))),
    list: (options = {}) => withStorageErrors(() => listDiskPage(folder, toPath, options)),
    remove: (key) => withStorageErrors(() => removeObject(openFiles, toPath(key))),
    presign: async () => null,
    localPath,
    quarantine: diskQuarantine(directory, localPath),
    demandSpace: (bytes) => withStorageErrors(() => checkSpace(folder, bytes)),
    probe: () => withStorageErrors(() => probeDisk(join(directory, 'staging'))),
    close: async () => openFiles.close(),
  };
}

async function statDiskObject(key: string, path: string): Promise<StoredObject | null> {
  const found = await nullIfAbsent(stat(path));
  return found && { key, size: found.size, modified: found.mtimeMs };
}

function openDiskObject(openFiles: OpenFileCache, path: string): OpenObject | null {
  const file = openFiles.take(path);
  if (file === null) return null;
  return {
    size: file.size,
    descriptor: file.descriptor,
    read: (start, end, signal) => readDiskChunks(file.descriptor, start, end, signal),
    [Symbol.asyncDispose]: async () => openFiles.giveBack(file),
  };
}

async function listDiskPage(
  folder: string,
  toPath: (key: string) => string,
  { prefix = '', after = '', limit = 1000 }: { prefix?: string; after?: string; limit?: number },
) {
  const objects: StoredObject[] = [];
  for await (const key of listKeysBelow(folder, prefix, after)) {
    if (objects.length === limit) return { objects, next: objects.at(-1)!.key };
    const object = await statDiskObject(key, toPath(key));
    if (object) objects.push(object);
  }
  return { objects, next: null };
}

async function removeObject(openFiles: OpenFileCache, path: string): Promise<void> {
  const removed = await nullIfAbsent(unlink(path).then(() => true));
  // Only now: a reader that came before the removal may have had it held again.
  openFiles.forget(path);
  if (removed) await syncStorageFolder(dirname(path));
}

/**
 * Writes and drops a byte: a full or read-only disk shows here before an upload fails on it. The reserve may be used for
 * it: who can no longer send files can still fetch and delete them.
 */
async function probeDisk(folder: string): Promise<void> {
  const path = join(folder, `probe-${process.pid}-${process.hrtime.bigint()}.part`);
  try {
    await using file = await open(path, 'w', 0o600);
    await file.write(new Uint8Array(1));
    await file.sync();
  } finally {
    await nullIfAbsent(unlink(path));
  }
}

async function nullIfAbsent<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return null;
    throw error;
  }
}

const readFileAt = promisify(read);
const diskChunkSize = 512 * 1024;

/** One buffer for all chunks: a fresh one for each would leave 64 MB of garbage before it is collected. */
async function* readDiskChunks(
  descriptor: number,
  start: number,
  end: number,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(diskChunkSize, end - start));
  for (let position = start; position < end;) {
    signal?.throwIfAborted();
    const wanted = Math.min(diskChunkSize, end - position);
    const { bytesRead } = await withStorageErrors(() => readFileAt(descriptor, buffer, 0, wanted, position));
    if (bytesRead === 0)
      throw new WorkcrateError('storage_failed', 'A stored object is shorter than it was.');
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The keys below a folder in the order of the keys themselves, one folder in memory at a time. */
async function* listKeysBelow(
  folder: string,
  prefix: string,
  after: string,
  parent = '',
): AsyncGenerator<string> {
  for (const part of await listSortedParts(folder)) {
    const key = parent + part;
    if (part.endsWith('/')) {
      const mayHold = (key.startsWith(prefix) || prefix.startsWith(key)) && `${key}\uffff` > after;
      if (mayHold) yield* listKeysBelow(join(folder, part), prefix, after, key);
    } else if (key.startsWith(prefix) && key > after) yield key;
  }
}

/** What others put here, such as a file manager its own files, is passed over. */
const folderForm = /^[a-z0-9][a-z0-9_-]*$/;
const storedFileForm = /^[a-z0-9][a-z0-9_-]*\.bin$/;

/** Folders carry their slash, so that `a/b` sorts against `a-b` as the whole keys do. */
async function listSortedParts(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => (entry.isDirectory() ? folderForm : storedFileForm).test(entry.name))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name.slice(0, -'.bin'.length)))
      .sort();
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return [];
    throw error;
  }
}

const dayForm = /^\d{4}-\d{2}-\d{2}$/;

/**
 * `quarantine/DAY/` beside `objects/`, with the same paths below it: whatever turns out to be wanted is moved back by
 * hand.
 */
function diskQuarantine(directory: string, localPath: (key: string) => string): Quarantine {
  const folder = join(directory, 'quarantine');
  const folderOf = (day: string): string => join(folder, checkDay(day));
  return {
    take: (key, day) =>
      withStorageErrors(() =>
        moveToQuarantine(join(directory, 'objects', localPath(key)), join(folderOf(day), localPath(key))),
      ),
    list: () =>
      withStorageErrors(async () =>
        Promise.all((await listQuarantineDays(folder)).map((day) => measureQuarantine(folder, day))),
      ),
    drop: (day) => withStorageErrors(() => rm(folderOf(day), { recursive: true, force: true })),
  };
}

function checkDay(day: string): string {
  if (!dayForm.test(day)) throw new WorkcrateError('invalid_input', `${JSON.stringify(day)} is no day.`);
  return day;
}

async function moveToQuarantine(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await rename(from, to);
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return;
    throw error;
  }
  await syncStorageFolder(dirname(to));
  await syncStorageFolder(dirname(from));
}

async function listQuarantineDays(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => dayForm.test(name)).sort();
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return [];
    throw error;
  }
}

async function measureQuarantine(folder: string, day: string): Promise<QuarantinedDay> {
  let [objects, bytes] = [0, 0];
  const entries = await readdir(join(folder, day), { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    objects++;
    bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return { day, objects, bytes };
}
