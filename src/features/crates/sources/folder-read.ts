import { fstatSync, read, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { yieldToEventLoop } from '../../../platform/concurrency/yield.ts';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import {
  rootPath,
  joinComponents,
  parseName,
  type Components,
  type OpenFile,
  type FolderRoot,
  type TreeEnd,
} from '../../../platform/paths/paths.ts';
import {
  crateChangedError,
  crateGoneError,
  isOwnName,
  sourceUnreachableError,
  type OpenSourceObject,
  type SourceObject,
} from '../../../ports/storage/source.ts';

const readSourceFileAt = promisify(read);
const sourceChunkBytes = 512 * 1024;

export function statSourceFile(folder: SourceFolder, name: string): SourceObject | null {
  using file = tryOpenSourceFile(folder, name);
  return file && toSourceObject(name, statOpenFile(file));
}

/** Whether there is a folder of this name, even an empty one. Links are not followed. */
export function hasSourceFolder(folder: SourceFolder, name: string): boolean {
  try {
    return folder.root.stat(parseObjectPath(name)).type === 'folder';
  } catch (error) {
    if (isAbsentFileError(error)) return checkFolderForAbsence(folder) !== null;
    throw error;
  }
}

export function openSourceFile(folder: SourceFolder, name: string): OpenSourceObject | null {
  const file = tryOpenSourceFile(folder, name);
  if (file === null) return null;
  const object = toSourceObject(name, statOpenFile(file));
  let isOpen = true;
  const check = (): void => {
    // The descriptor may belong to another file by now.
    if (!isOpen) throw new WorkcrateError('internal', 'A file of a source was read after it was closed.');
    if (toFileStamp(statOpenFile(file)) !== object.stamp) throw replacedFileError(folder, name);
  };
  return {
    object,
    size: object.size,
    // Bytes that are sent by their descriptor could not be verified.
    descriptor: null,
    read: (start, end, signal) => readSourceChunks(folder, file.fd, { start, end }, check, signal),
    async [Symbol.asyncDispose]() {
      isOpen = false;
      file[Symbol.dispose]();
    },
  };
}

const statOpenFile = ({ fd }: OpenFile): BigIntStats => fstatSync(fd, { bigint: true });

/** Missing permission to read a file concerns only that file, not the source. */
function tryOpenSourceFile(folder: SourceFolder, name: string): OpenFile | null {
  try {
    return folder.root.open(parseObjectPath(name));
  } catch (error) {
    if (isAbsentFileError(error)) return checkFolderForAbsence(folder);
    if (isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'denied')
      throw new WorkcrateError(
        'unsupported',
        `The server is not allowed to read ${JSON.stringify(name)} in ${folder.url}. Give its user permission.`,
        { cause: error },
      );
    throw error;
  }
}

/** The name belongs to another file by now, or to none. */
function replacedFileError(folder: SourceFolder, name: string): WorkcrateError {
  return statSourceFile(folder, name) === null
    ? crateGoneError(folder.url, name)
    : crateChangedError(folder.url, name);
}

/** Each chunk is checked after it was read, and before it is passed on. One buffer is used for all chunks. */
async function* readSourceChunks(
  folder: SourceFolder,
  fd: number,
  { start, end }: { start: number; end: number },
  check: () => void,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(sourceChunkBytes, Math.max(0, end - start)));
  try {
    for (let position = start; position < end;) {
      signal?.throwIfAborted();
      check();
      const { bytesRead } = await readSourceFileAt(
        fd,
        buffer,
        0,
        Math.min(sourceChunkBytes, end - position),
        position,
      );
      check();
      if (bytesRead === 0)
        throw new WorkcrateError('internal', 'Bytes beyond the end of a file were asked for.');
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw toFolderError(folder, error);
  }
}

/** A directory that is a source. */
export interface SourceFolder {
  readonly url: string;
  readonly directory: string;
  readonly root: FolderRoot;
}

/** File names may be any that the kernel allows, and are taken literally. */
export const parseObjectPath = (name: string): Components =>
  joinComponents(rootPath, ...name.split('/').map((part) => parseName(part)));

const toSourceObject = (name: string, stats: BigIntStats): SourceObject => ({
  name,
  size: Number(stats.size),
  modified: Number(stats.mtimeNs / 1_000_000n),
  stamp: toFileStamp(stats),
});

/** The inode shows that a file was replaced, ctime that its mtime was set back. */
const toFileStamp = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  [size, mtimeNs, ctimeNs, ino].map((part) => part.toString(36)).join('-');

/** Gives null for a missing file, but throws if the folder itself is gone. */
export function checkFolderForAbsence({ root }: SourceFolder): null {
  root.stat(rootPath);
  return null;
}

/** Missing, or not readable as a file: a link, a device, a name that is too long. */
function isAbsentFileError(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_not_found')) return true;
  return isWorkcrateError(error, 'path_refused') && !transientRefusalKinds.has(String(error.details['kind']));
}

const transientRefusalKinds = new Set(['denied', 'busy', 'changed']);

/** What a failure means for the source as a whole. */
export function toFolderError({ url }: SourceFolder, error: unknown): unknown {
  if (isWorkcrateError(error, 'path_not_found'))
    return sourceUnreachableError(
      url,
      'There is no such folder. Check the path, and that it is mounted.',
      error,
    );
  if (isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'not_folder')
    return sourceUnreachableError(
      url,
      'It is not a folder. Name the folder that contains the crates.',
      error,
    );
  if (isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'storage_failed'))
    return sourceUnreachableError(url, error.message, error);
  return getErrno(error) === null || error instanceof WorkcrateError
    ? error
    : sourceUnreachableError(url, `The filesystem answered ${getErrno(error)}.`, error);
}

/** One folder of each level is in memory at a time, with about 200 bytes for each file. */
const maxFolderEntries = 500_000;
const maxSourceDepth = 64;
/** How many entries are read before yielding to the event loop. */
const entriesPerYield = 256;

/** An object, or how many entries were skipped. */
export type WalkedObject = SourceObject | number;

/** A folder has a slash at the end of its name. */
type SourceFolderEntry = SourceObject | { readonly name: string };

interface FolderWalk {
  readonly folder: SourceFolder;
  readonly prefix: string;
  /** Only names after this one. */
  readonly after: string;
}

/**
 * All files whose names begin with `prefix` and come after `after`, in byte order of whole names. What vanishes meanwhile
 * is left out. Folders without read permission are skipped, since every disk has some.
 */
export async function* walkSourceFolder(
  folder: SourceFolder,
  prefix: string,
  after: string,
): AsyncGenerator<WalkedObject> {
  const search = { folder, prefix, after };
  folder.root.stat(rootPath);
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  if (start === '') yield* walkBelow(search, rootPath, '');
  else if (isVisiblePrefix(start)) yield* walkBelow(search, parseObjectPath(start.slice(0, -1)), start);
}

const isVisiblePrefix = (start: string): boolean =>
  start
    .slice(0, -1)
    .split('/')
    .every((part) => part !== '' && !part.startsWith('.'));

async function* walkBelow(
  search: FolderWalk,
  path: Components,
  parent: string,
): AsyncGenerator<WalkedObject> {
  const { found, passedOver } = await listFolderTolerantly(search.folder, path, parent);
  if (passedOver > 0) yield passedOver;
  for (const one of found) {
    if (!one.name.endsWith('/')) {
      if (one.name.startsWith(search.prefix) && isAfterInUtf8Order(one.name, search.after))
        yield one as SourceObject;
    } else if (mayHoldObjects(one.name, search)) {
      if (path.length === maxSourceDepth) yield 1;
      else
        yield* walkBelow(
          search,
          joinComponents(path, parseName(one.name.slice(parent.length, -1))),
          one.name,
        );
    }
  }
}

const mayHoldObjects = (name: string, { prefix, after }: FolderWalk): boolean =>
  (name.startsWith(prefix) || prefix.startsWith(name)) &&
  (after.startsWith(name) || isAfterInUtf8Order(name, after));

/** The order of object stores: by UTF-8 bytes, which is the order of code points. */
const isAfterInUtf8Order = (name: string, before: string): boolean => compareUtf8Order(name, before) > 0;

function compareUtf8Order(a: string, b: string): number {
  if (a === b) return 0;
  // JavaScript orders only surrogates differently.
  if (surrogatePattern.test(a) || surrogatePattern.test(b))
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return compareCodeUnits(a, b);
}

const compareCodeUnits = (a: string, b: string): number => (a < b ? -1 : 1);

const surrogatePattern = /[\ud800-\udfff]/;

async function listFolderTolerantly(
  folder: SourceFolder,
  path: Components,
  parent: string,
): Promise<{ found: SourceFolderEntry[]; passedOver: number }> {
  try {
    return await listFolderEntries(folder, path, parent);
  } catch (error) {
    // The root folder must exist; any other may vanish, be replaced or be unreadable.
    if (path.length === 0) throw error;
    if (isWorkcrateError(error, 'path_not_found')) {
      folder.root.stat(rootPath);
      return { found: [], passedOver: 0 };
    }
    if (isWorkcrateError(error, 'path_refused')) return { found: [], passedOver: 1 };
    throw error;
  }
}

async function listFolderEntries(folder: SourceFolder, path: Components, parent: string) {
  const found: SourceFolderEntry[] = [];
  let passedOver = 0;
  const entries = folder.root.tree(path, { mostEntries: maxFolderEntries, mostDepth: 0 });
  let [step, seen] = [entries.next(), 0];
  for (; !step.done; step = entries.next()) {
    const { path: name, stats } = step.value;
    if (name !== null && !isOwnName(name)) {
      if (stats.isFile()) found.push(toSourceObject(parent + name, stats));
      else if (!stats.isDirectory()) passedOver++;
      else if (!name.startsWith('.')) found.push({ name: `${parent}${name}/` });
    }
    if (++seen % entriesPerYield === 0) await yieldToEventLoop();
  }
  checkListingComplete(folder, parent, step.value);
  const order = found.some(({ name }) => surrogatePattern.test(name)) ? compareUtf8Order : compareCodeUnits;
  found.sort((a, b) => order(a.name, b.name));
  return { found, passedOver: passedOver + step.value.unreadable };
}

/** An incomplete listing must not look like deleted files. */
function checkListingComplete({ url }: SourceFolder, parent: string, { cut }: TreeEnd): void {
  const where = `The folder ${JSON.stringify(parent)} in it`;
  if (cut)
    throw sourceUnreachableError(
      url,
      `${where} has more than ${maxFolderEntries} entries. Spread them over several folders.`,
    );
}
