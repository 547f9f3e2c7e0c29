import {
  link,
  mkdir,
  open,
  readdir,
  rename,
  stat,
  truncate,
  unlink,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createSpaceClaim } from '../../platform/data-folder/disk-reserve.ts';
import { getErrno } from '../../platform/errors.ts';
import {
  alreadyExistsError,
  checkStagingId,
  isStagingId,
  offsetConflictError,
  withStorageErrors,
  type AppendOptions,
  type Staged,
  type Staging,
  type StoredObject,
} from './storage.ts';

/** Chunks from the network are small; writing them together saves most of the calls. */
const batchBytes = 1024 * 1024;

/** A long append is synced this often, so that a crash loses no more than that of it. A short one is synced once. */
const syncEveryMs = 5000;

/** Staged uploads as `ID.part` files; a commit links the file into its place. */
export async function diskStaging(
  folder: string,
  toObjectPath: (key: string) => string,
): Promise<Required<Staging>> {
  await withStorageErrors(() => mkdir(folder, { recursive: true, mode: 0o700 }));
  const folders = new Set<string>();
  const toPartPath = (id: string): string => join(folder, `${checkStagingId(id)}.part`);
  return {
    size: (id) => withStorageErrors(() => readPartSize(toPartPath(id))),
    append: (id, offset, bytes, options) => appendToPart(toPartPath(id), offset, bytes, options),
    commit: (id, key) =>
      withStorageErrors(() => commitPart(toPartPath(id), key, toObjectPath(key), dirname(folder), folders)),
    discard: (id) => withStorageErrors(() => removePartIfThere(toPartPath(id))),
    list: () => withStorageErrors(() => listPartFiles(folder)),
    cutBack: (id, size) => withStorageErrors(() => truncatePart(toPartPath(id), size)),
    takeBack: (key, id) => withStorageErrors(() => moveBackToStaging(toObjectPath(key), toPartPath(id))),
  };
}

async function listPartFiles(folder: string): Promise<Staged[]> {
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  const ids = files.filter(({ name }) => name.endsWith('.part')).map(({ name }) => name.slice(0, -5));
  return Promise.all(ids.filter(isStagingId).map((id) => readStagedTime(folder, id)));
}

/** An upload that was committed or discarded meanwhile counts as new. */
async function readStagedTime(folder: string, id: string): Promise<Staged> {
  const found = await stat(join(folder, `${id}.part`)).catch(() => null);
  return { id, modified: found?.mtimeMs ?? Date.now() };
}

async function readPartSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return 0;
    throw error;
  }
}

async function appendToPart(
  path: string,
  offset: number,
  bytes: AsyncIterable<Uint8Array>,
  { signal, onSync }: AppendOptions = {},
): Promise<number> {
  const size = await withStorageErrors(() => readPartSize(path));
  if (offset !== 0 && offset !== size) throw offsetConflictError(size);
  await using file = await withStorageErrors(() => open(path, offset === 0 ? 'w' : 'r+', 0o600));
  using space = createSpaceClaim(dirname(path));
  let position = offset;
  let syncAt = performance.now() + syncEveryMs;
  try {
    for await (const batch of gatherBatches(bytes, signal)) {
      await withStorageErrors(() => space.demand(batch.length));
      position = await withStorageErrors(() => writeWholeBatch(file, batch, position));
      if (performance.now() < syncAt) continue;
      await withStorageErrors(() => file.sync());
      syncAt = performance.now() + syncEveryMs;
      onSync?.(position);
    }
  } finally {
    await withStorageErrors(() => file.sync());
  }
  return position;
}

/**
 * Gathers chunks in one buffer, which is reused after each write. If the source fails, what came before that is still
 * passed on.
 */
async function* gatherBatches(
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let buffer = Buffer.alloc(0);
  let held = 0;
  try {
    for await (const chunk of bytes) {
      signal?.throwIfAborted();
      for (let at = 0; at < chunk.length;) {
        if (held === batchBytes) {
          yield buffer;
          held = 0;
        }
        const part = chunk.subarray(at, at + batchBytes - held);
        if (held + part.length > buffer.length) buffer = growBuffer(buffer, held, held + part.length);
        buffer.set(part, held);
        held += part.length;
        at += part.length;
      }
    }
  } catch (error) {
    if (held > 0) yield buffer.subarray(0, held);
    throw error;
  }
  if (held > 0) yield buffer.subarray(0, held);
}

/** A short upload needs a short buffer. */
function growBuffer(buffer: Buffer, held: number, needed: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(Math.min(batchBytes, Math.max(2 * needed, 4096)));
  larger.set(buffer.subarray(0, held));
  return larger;
}

/** A write may be short: so the system reports that the disk is almost full. */
async function writeWholeBatch(file: FileHandle, batch: Uint8Array, position: number): Promise<number> {
  for (let done = 0; done < batch.length;) {
    const { bytesWritten } = await file.write(batch, done, batch.length - done, position + done);
    done += bytesWritten;
  }
  return position + batch.length;
}

async function commitPart(
  part: string,
  key: string,
  target: string,
  root: string,
  folders: Set<string>,
): Promise<StoredObject> {
  await makeStorageFolder(dirname(target), root, folders);
  await createPartIfMissing(part);
  // Before anything is linked: there may be no descriptor left to make it durable with.
  await using folder = await open(dirname(target), 'r');
  await linkIntoPlace(part, key, target);
  await folder.sync();
  await removePartIfThere(part);
  const { size, mtimeMs } = await stat(target);
  return { key, size, modified: mtimeMs };
}

async function truncatePart(part: string, size: number): Promise<void> {
  if ((await readPartSize(part)) > size) await truncate(part, size);
}

async function moveBackToStaging(object: string, part: string): Promise<boolean> {
  if (await fileExists(part)) return false;
  try {
    await rename(object, part);
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return false;
    throw error;
  }
  await syncStorageFolder(dirname(part));
  await syncStorageFolder(dirname(object));
  return true;
}

const fileExists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** `link` fails if the name is taken, atomically; on a filesystem without links, check and rename. */
async function linkIntoPlace(part: string, key: string, target: string): Promise<void> {
  try {
    await link(part, target);
  } catch (error) {
    if (getErrno(error) === 'EEXIST') throw alreadyExistsError(key);
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(getErrno(error) ?? '')) throw error;
    if (await fileExists(target)) throw alreadyExistsError(key);
    await rename(part, target);
  }
}

async function createPartIfMissing(part: string): Promise<void> {
  await using file = await open(part, 'a', 0o600);
  await file.sync();
}

/** Folders are synced into their parents once, also old ones: a crash may have come before that. */
async function makeStorageFolder(path: string, root: string, folders: Set<string>): Promise<void> {
  if (folders.has(path)) return;
  await mkdir(path, { recursive: true, mode: 0o700 });
  for (let at = path; at !== root; at = dirname(at)) await syncStorageFolder(dirname(at));
  folders.add(path);
}

async function removePartIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (getErrno(error) !== 'ENOENT') throw error;
  }
}

/** Makes renames, links and removals in a folder durable: without it, power loss can undo them. */
export async function syncStorageFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}
