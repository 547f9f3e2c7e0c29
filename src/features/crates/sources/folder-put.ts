/**
 * Writes a packed crate into a folder source, atomically and durably, and removes what packings that died left there.
 * It neither makes the archive nor enforces quotas: `features/packing/` does.
 */
import { randomBytes } from 'node:crypto';
import { constants, fsync, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { yieldToEventLoop } from '../../../platform/concurrency/yield.ts';
import { claimSpace } from '../../../platform/data-folder/disk-reserve.ts';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import {
  openBelow,
  rootPath,
  joinComponents,
  parseName,
  type Components,
} from '../../../platform/paths/paths.ts';
import {
  checkNewName,
  checkExactSize,
  ownNameMark,
  type SourceObject,
} from '../../../ports/storage/source.ts';
import { parseObjectPath, toFolderError, statSourceFile, type SourceFolder } from './folder-read.ts';

const writeFileDescriptor = promisify(write);
const fsyncFile = promisify(fsync);

/** Writes a temporary file that listings leave out → fsync → links it to its name → fsync of the folders. */
export async function putSourceFile(
  folder: SourceFolder,
  name: string,
  size: number,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<SourceObject> {
  checkNewName(name);
  const target = parseNewObjectName(name);
  const parent = target.slice(0, -1).reduce((path, part) => joinComponents(path, parseName(part)), rootPath);
  const part = joinComponents(parent, parseName(newPartName()));
  return translateWriteErrors(folder, name, async () => {
    // The root folder is not created: if it is missing, it may just not be mounted.
    folder.root.stat(rootPath);
    if (parent.length > 0) folder.root.makeFolder(parent);
    checkNameIsFree(folder, target);
    await removePartFiles(folder, parent);
    using _claimed = (await claimSpace(folder.directory, size)) ?? throwDiskFull(name);
    try {
      await writePartFile(folder, part, checkExactSize(bytes, size), signal);
      linkPartFile(folder, part, target);
    } catch (error) {
      removeSourcePathIfPresent(folder, part);
      throw error;
    }
    for (let depth = parent.length; depth >= 0; depth--)
      await fsyncSourceFolder(folder, parent.slice(0, depth));
    return statSourceFile(folder, name)!;
  });
}

/** Without fsync: after a power loss, at worst the archive that was to be removed is back. */
export function removeSourceFile(folder: SourceFolder, made: SourceObject): void {
  if (statSourceFile(folder, made.name)?.stamp === made.stamp)
    folder.root.remove(parseNewObjectName(made.name));
}

function throwDiskFull(name: string): never {
  throw new WorkcrateError(
    'storage_full',
    `${describeFailedWrite(name)} The disk is full, except for a reserve that is needed to delete files. Free some space.`,
  );
}

/** Users see this, so it does not name the server's folders. */
const describeFailedWrite = (name: string): string => `${JSON.stringify(name)} cannot be written.`;

function parseNewObjectName(name: string): Components {
  try {
    return parseObjectPath(name);
  } catch (error) {
    throw new WorkcrateError('invalid_input', 'The name of an object is too long for a file.', {
      cause: error,
    });
  }
}

async function writePartFile(
  { root }: SourceFolder,
  part: Components,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  using file = root.create(part);
  for await (const chunk of bytes) {
    signal?.throwIfAborted();
    for (let done = 0; done < chunk.length;)
      done += (await writeFileDescriptor(file.fd, chunk, done, chunk.length - done)).bytesWritten;
  }
  signal?.throwIfAborted();
  await fsyncFile(file.fd);
}

/** Errors of filesystems without hard links, or with too many of them. */
const noHardLinkErrnos = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK']);

/** Gives the complete file its name atomically; fails if something has that name by now. */
function linkPartFile(folder: SourceFolder, part: Components, target: Components): void {
  try {
    folder.root.link(part, target);
  } catch (error) {
    if (!isWorkcrateError(error) || !noHardLinkErrnos.has(getErrno(error.cause) ?? '')) throw error;
    return renamePartFile(folder, part, target);
  }
  removeSourcePathIfPresent(folder, part);
}

/**
 * Claims the name first with an empty file, since a rename alone would replace a file that somebody else has put there
 * meanwhile. Nothing else runs between the two steps.
 */
function renamePartFile({ root }: SourceFolder, part: Components, target: Components): void {
  root.create(target)[Symbol.dispose]();
  try {
    root.rename(part, target);
  } catch (error) {
    root.remove(target);
    throw error;
  }
}

function checkNameIsFree({ root }: SourceFolder, target: Components): void {
  try {
    root.stat(target);
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return;
    // A link occupies the name too, even a dangling one.
    if (!isWorkcrateError(error, 'path_refused') || error.details['kind'] !== 'link') throw error;
  }
  throw new WorkcrateError('already_exists', `There is already an object ${target.join('/')}.`);
}

/** Opening by path is safe here: nothing is read or written, it only calls fsync. */
async function fsyncSourceFolder({ directory }: SourceFolder, path: readonly string[]): Promise<void> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const flags = O_RDONLY | O_DIRECTORY | (path.length === 0 ? 0 : O_NOFOLLOW);
  await using handle = await open(join(directory, ...path), flags);
  await handle.sync();
}

const diskFullErrnos = new Set(['ENOSPC', 'EDQUOT']);
const diskFailureErrnos = new Set(['EIO', 'EUCLEAN', 'ESTALE', 'ENXIO']);
const readOnlyErrnos = new Set(['EROFS', 'EACCES', 'EPERM']);

/** Adds errors for a full disk and missing permissions; the rest is the same as for reading. */
async function translateWriteErrors<T>(
  folder: SourceFolder,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const errno = getErrno(isWorkcrateError(error) ? error.cause : error) ?? '';
    const where = describeFailedWrite(name);
    if (diskFullErrnos.has(errno))
      throw new WorkcrateError('storage_full', `${where} The disk or a quota is full. Free some space.`, {
        cause: error,
      });
    if (readOnlyErrnos.has(errno))
      throw new WorkcrateError(
        'storage_read_only',
        `${where} The server is not allowed to write there. Give its user permission.`,
        { cause: error },
      );
    if (diskFailureErrnos.has(errno))
      throw new WorkcrateError(
        'storage_failed',
        `${where} The filesystem answered ${errno}. Check the disk.`,
        {
          cause: error,
        },
      );
    throw toFolderError(folder, error);
  }
}

/** The name of a temporary file, which listings leave out. */
const newPartName = (): string => `${ownNameMark}${randomBytes(12).toString('hex')}.part`;

const isPartName = (name: string): boolean =>
  name.startsWith(ownNameMark) && /^[0-9a-f]{24}\.part$/.test(name.slice(ownNameMark.length));

/** A file that is still being written to was modified within a day. */
export const partFileMaxAgeMs = 24 * 60 * 60 * 1000;
/** Larger folders are only searched in part: other leftovers are found another time, or do no harm. */
const maxLeftoverEntries = 10_000;
const leftoversPerYield = 256;

/** Removes temporary files that a crashed process has left in a folder. */
async function removePartFiles(folder: SourceFolder, path: Components): Promise<void> {
  const leftovers: Components[] = [];
  let seen = 0;
  for (const { path: name, stats } of folder.root.tree(path, {
    mostEntries: maxLeftoverEntries,
    mostDepth: 0,
  })) {
    if (
      name !== null &&
      isPartName(name) &&
      stats.isFile() &&
      Number(stats.mtimeMs) < Date.now() - partFileMaxAgeMs
    )
      leftovers.push(joinComponents(path, parseName(name)));
    if (++seen % leftoversPerYield === 0) await yieldToEventLoop();
  }
  for (const leftover of leftovers) removeSourcePathIfPresent(folder, leftover);
}

function removeSourcePathIfPresent({ root }: Pick<SourceFolder, 'root'>, path: Components): void {
  try {
    root.remove(path);
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
  }
}

/** Packed crates are in `shared/`, or in `users/NAME/`. */
const maxPackFolderDepth = 2;
const maxPackFolderEntries = 500_000;

/** Temporary files of interrupted packings in a folder of packed crates that are older than this. */
export function findPackLeftovers(directory: string, olderThanMs: number): string[] {
  const found: string[] = [];
  const before = Date.now() - olderThanMs;
  const options = { mostEntries: maxPackFolderEntries, mostDepth: maxPackFolderDepth };
  for (const { path, stats } of openBelow(directory).tree(rootPath, options)) {
    const isPart = path !== null && stats.isFile() && isPartName(path.slice(path.lastIndexOf('/') + 1));
    if (isPart && Number(stats.mtimeMs) <= before) found.push(path);
  }
  return found;
}

/** Gives how many there were. */
export function removePackLeftovers(directory: string, olderThanMs: number): number {
  const found = findPackLeftovers(directory, olderThanMs);
  const folder = { root: openBelow(directory) };
  for (const path of found)
    removeSourcePathIfPresent(folder, joinComponents(...path.split('/').map(parseName)));
  return found.length;
}
