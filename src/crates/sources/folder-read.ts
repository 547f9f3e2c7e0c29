import { fstatSync, read, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { yieldToEventLoop } from '../../concurrency/yield.ts';
import { errnoOf, isWorkcrateError, WorkcrateError } from '../../errors.ts';
import {
  here,
  joinComponents,
  parseName,
  type Components,
  type OpenFile,
  type FolderRoot,
  type TreeEnd,
} from '../../paths/paths.ts';
import {
  crateChanged,
  crateGone,
  isOwnName,
  sourceUnreachable,
  type OpenSourceObject,
  type SourceObject,
} from '../../storage/source.ts';

const readAt = promisify(read);
const chunkBytes = 512 * 1024;

export function statFile(folder: Folder, name: string): SourceObject | null {
  using file = opened(folder, name);
  return file && objectOf(name, statsOf(file));
}

export function openFile(folder: Folder, name: string): OpenSourceObject | null {
  const file = opened(folder, name);
  if (file === null) return null;
  const object = objectOf(name, statsOf(file));
  let isOpen = true;
  const check = (): void => {
    // By now the number may be another's file.
    if (!isOpen) throw new WorkcrateError('internal', 'A file of a source was read after it was closed.');
    if (stampOf(statsOf(file)) !== object.stamp) throw otherThan(folder, name);
  };
  return {
    object,
    size: object.size,
    // Bytes that the kernel sends on its own could not be judged.
    descriptor: null,
    read: (start, end, signal) => readChunks(folder, file.fd, { start, end }, check, signal),
    async [Symbol.asyncDispose]() {
      isOpen = false;
      file[Symbol.dispose]();
    },
  };
}

const statsOf = ({ fd }: OpenFile): BigIntStats => fstatSync(fd, { bigint: true });

/** One that the server may not read is a matter of that file alone: it waits until somebody changes its mode. */
function opened(folder: Folder, name: string): OpenFile | null {
  try {
    return folder.root.open(componentsOf(name));
  } catch (error) {
    if (isAbsence(error)) return absentIn(folder);
    if (isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'denied')
      throw new WorkcrateError(
        'unsupported',
        `The server may not read ${JSON.stringify(name)} in ${folder.url}. Give its user the right to.`,
        { cause: error },
      );
    throw error;
  }
}

/** A name that leads to another file, or to none, by now. */
function otherThan(folder: Folder, name: string): WorkcrateError {
  return statFile(folder, name) === null ? crateGone(folder.url, name) : crateChanged(folder.url, name);
}

/** What was read is judged after it was read, and before it is passed on. One buffer serves for all chunks. */
async function* readChunks(
  folder: Folder,
  fd: number,
  { start, end }: { start: number; end: number },
  check: () => void,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, Math.max(0, end - start)));
  try {
    for (let position = start; position < end;) {
      signal?.throwIfAborted();
      check();
      const { bytesRead } = await readAt(fd, buffer, 0, Math.min(chunkBytes, end - position), position);
      check();
      if (bytesRead === 0)
        throw new WorkcrateError('internal', 'Bytes beyond the end of a file were asked for.');
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw folderFailure(folder, error);
  }
}

/** A directory that is a source. */
export interface Folder {
  readonly url: string;
  readonly directory: string;
  readonly root: FolderRoot;
}

/** Names of files are any that the kernel allows, and mean nothing else than they say. */
export const componentsOf = (name: string): Components =>
  joinComponents(here, ...name.split('/').map((part) => parseName(part)));

const objectOf = (name: string, stats: BigIntStats): SourceObject => ({
  name,
  size: Number(stats.size),
  modified: Number(stats.mtimeNs / 1_000_000n),
  stamp: stampOf(stats),
});

/** The inode tells of a file that took another's place, the second time of one whose first was set back. */
const stampOf = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  [size, mtimeNs, ctimeNs, ino].map((part) => part.toString(36)).join('-');

/** Null for what is not there; but where the folder itself is gone, that is what is told. */
export function absentIn({ root }: Folder): null {
  root.stat(here);
  return null;
}

/** Nothing there, or nothing that is to be had: a link, a device, a name that is too long. */
function isAbsence(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_not_found')) return true;
  return isWorkcrateError(error, 'path_refused') && !passing.has(String(error.details['kind']));
}

const passing = new Set(['denied', 'busy', 'changed']);

/** What a failure means for the source as a whole. */
export function folderFailure({ url }: Folder, error: unknown): unknown {
  if (isWorkcrateError(error, 'path_not_found'))
    return sourceUnreachable(
      url,
      'There is no such folder. See that it is mounted, and check the path.',
      error,
    );
  if (isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'not_folder')
    return sourceUnreachable(url, 'It is no folder. Name the folder that the crates are in.', error);
  if (isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'storage_failed'))
    return sourceUnreachable(url, error.message, error);
  return errnoOf(error) === null || error instanceof WorkcrateError
    ? error
    : sourceUnreachable(url, `The filesystem answered ${errnoOf(error)}.`, error);
}

/** One folder is in memory at a time on each level, in some 200 bytes for a file. */
const mostEntries = 500_000;
const mostDepth = 64;
/** How many entries are looked at before others have a turn. */
const atOnce = 256;

/** An object, or how many entries were passed over. */
export type Walked = SourceObject | number;

/** A folder that is to be entered is known by its slash. */
type Found = SourceObject | { readonly name: string };

interface Search {
  readonly folder: Folder;
  readonly prefix: string;
  /** Nothing up to here, this one included. */
  readonly after: string;
}

/**
 * Everything whose name begins with `prefix` and comes after `after`, in the order of whole names by their bytes. What
 * vanishes meanwhile is left out; a folder that may not be read is passed over, since every disk has one.
 */
export async function* walkFolder(folder: Folder, prefix: string, after: string): AsyncGenerator<Walked> {
  const search = { folder, prefix, after };
  folder.root.stat(here);
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  if (start === '') yield* below(search, here, '');
  else if (isPlain(start)) yield* below(search, componentsOf(start.slice(0, -1)), start);
}

const isPlain = (start: string): boolean =>
  start
    .slice(0, -1)
    .split('/')
    .every((part) => part !== '' && !part.startsWith('.'));

async function* below(search: Search, path: Components, parent: string): AsyncGenerator<Walked> {
  const { found, passedOver } = await foundIn(search.folder, path, parent);
  if (passedOver > 0) yield passedOver;
  for (const one of found) {
    if (!one.name.endsWith('/')) {
      if (one.name.startsWith(search.prefix) && isAfter(one.name, search.after)) yield one as SourceObject;
    } else if (mayHold(one.name, search)) {
      if (path.length === mostDepth) yield 1;
      else yield* below(search, joinComponents(path, parseName(one.name.slice(parent.length, -1))), one.name);
    }
  }
}

const mayHold = (name: string, { prefix, after }: Search): boolean =>
  (name.startsWith(prefix) || prefix.startsWith(name)) && (after.startsWith(name) || isAfter(name, after));

/** As stores order names: by the bytes of UTF-8, which is the order of code points. */
const isAfter = (name: string, before: string): boolean => compared(name, before) > 0;

function compared(a: string, b: string): number {
  if (a === b) return 0;
  // Only half pairs stand elsewhere in the order of JavaScript.
  if (halves.test(a) || halves.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return comparedPlainly(a, b);
}

const comparedPlainly = (a: string, b: string): number => (a < b ? -1 : 1);

const halves = /[\ud800-\udfff]/;

async function foundIn(
  folder: Folder,
  path: Components,
  parent: string,
): Promise<{ found: Found[]; passedOver: number }> {
  try {
    return await look(folder, path, parent);
  } catch (error) {
    // The folder of all is demanded; any other may vanish, or be exchanged, or be closed to us.
    if (path.length === 0) throw error;
    if (isWorkcrateError(error, 'path_not_found')) {
      folder.root.stat(here);
      return { found: [], passedOver: 0 };
    }
    if (isWorkcrateError(error, 'path_refused')) return { found: [], passedOver: 1 };
    throw error;
  }
}

async function look(folder: Folder, path: Components, parent: string) {
  const found: Found[] = [];
  let passedOver = 0;
  const entries = folder.root.tree(path, { mostEntries, mostDepth: 0 });
  let [step, seen] = [entries.next(), 0];
  for (; !step.done; step = entries.next()) {
    const { path: name, stats } = step.value;
    if (name !== null && !isOwnName(name)) {
      if (stats.isFile()) found.push(objectOf(parent + name, stats));
      else if (!stats.isDirectory()) passedOver++;
      else if (!name.startsWith('.')) found.push({ name: `${parent}${name}/` });
    }
    if (++seen % atOnce === 0) await yieldToEventLoop();
  }
  refuseCut(folder, parent, step.value);
  const order = found.some(({ name }) => halves.test(name)) ? compared : comparedPlainly;
  found.sort((a, b) => order(a.name, b.name));
  return { found, passedOver: passedOver + step.value.unreadable };
}

/** What was not seen must not be taken for what is not there. */
function refuseCut({ url }: Folder, parent: string, { cut }: TreeEnd): void {
  const where = `The folder ${JSON.stringify(parent)} in it`;
  if (cut)
    throw sourceUnreachable(
      url,
      `${where} holds more than ${mostEntries} entries. Spread them over several.`,
    );
}
