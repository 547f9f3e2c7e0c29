import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openBelow } from '../../../platform/paths/paths.ts';
import { isSourceName, type Source, type SourcePage } from '../../../ports/storage/source.ts';
import { putSourceFile, removeSourceFile } from './folder-put.ts';
import {
  checkFolderForAbsence,
  toFolderError,
  hasSourceFolder,
  openSourceFile,
  statSourceFile,
  walkSourceFolder,
  type SourceFolder,
  type WalkedObject,
} from './folder-read.ts';

const maxObjectsPerPage = 1000;
/** How many listings can be continued in place; any other starts again and skips what was listed. */
const maxOpenWalks = 8;

/**
 * The files below a directory as objects, named by their relative paths. Links are not followed, and only regular files
 * are opened.
 */
export function createFolderSource(directory: string, knownAs?: string): Source {
  const url = pathToFileURL(resolve(directory)).href.replace(/\/*$/, '/');
  const folder: SourceFolder = { url, directory: resolve(directory), root: openBelow(directory) };
  const pages = createFolderPagination(folder);
  const attempt = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw toFolderError(folder, error);
    }
  };
  return {
    kind: 'folder',
    url,
    ...(knownAs === undefined ? {} : { knownAs }),
    list: (options = {}) => attempt(() => pages.next(options)),
    stat: (name) =>
      attempt(() => (isSourceName(name) ? statSourceFile(folder, name) : checkFolderForAbsence(folder))),
    open: (name) =>
      attempt(() => (isSourceName(name) ? openSourceFile(folder, name) : checkFolderForAbsence(folder))),
    hasFolder: (name) => attempt(() => isSourceName(name) && hasSourceFolder(folder, name)),
    presign: async () => null,
    put: (name, size, bytes, signal) => putSourceFile(folder, name, size, bytes, signal),
    remove: (made) => attempt(() => removeSourceFile(folder, made)),
    close: async () => pages.close(),
  };
}

/**
 * Keeps a walk between two pages, since restarting it would read the names of a large folder again for each page. This is
 * not a `BoundedMap`, since an evicted walk has to be closed first.
 */
function createFolderPagination(folder: SourceFolder) {
  const walks = new Map<string, AsyncGenerator<WalkedObject>>();
  let count = 0;

  function take(after: string, prefix: string): AsyncGenerator<WalkedObject> {
    const walk = walks.get(after);
    walks.delete(after);
    // The token ends with the last name, so that a walk that was evicted can be started again.
    return walk ?? walkSourceFolder(folder, prefix, after.slice(after.indexOf(' ') + 1));
  }

  async function hold(walk: AsyncGenerator<WalkedObject>, last: string): Promise<string> {
    const token = `${count++} ${last}`;
    walks.set(token, walk);
    for (const [oldest, idle] of walks) {
      if (walks.size <= maxOpenWalks) break;
      walks.delete(oldest);
      await idle.return(undefined);
    }
    return token;
  }

  return {
    async next(options: { prefix?: string; after?: string; signal?: AbortSignal }): Promise<SourcePage> {
      options.signal?.throwIfAborted();
      const walk = take(options.after ?? '', options.prefix ?? '');
      const objects = [];
      let passedOver = 0;
      for (let step = await walk.next(); !step.done; step = await walk.next()) {
        if (options.signal?.aborted) await walk.return(undefined);
        options.signal?.throwIfAborted();
        if (typeof step.value === 'number') passedOver += step.value;
        else objects.push(step.value);
        if (objects.length === maxObjectsPerPage)
          return { objects, passedOver, next: await hold(walk, objects.at(-1)!.name) };
      }
      return { objects, passedOver, next: null };
    },
    async close(): Promise<void> {
      for (const walk of walks.values()) await walk.return(undefined);
      walks.clear();
    },
  };
}
