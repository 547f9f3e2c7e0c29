/**
 * Writes the kept bytes of one run into a folder of its own, in a place of the user's that no code sees. Small files go
 * one behind the other into one file, so that ten thousand of them take one inode; a large one is a file of its own, a
 * reflink where the file system can. Never a hard link: a later run writes in place. Nothing is synced: whoever reads
 * the bytes compares their hash. What is kept for how long is decided in `kept-results.ts`.
 */
import { fchmodSync, writeSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { getErrno, isWorkcrateError } from '../errors.ts';
import { joinComponents, openBelow, parseName, type Components, type OpenFile } from '../paths/paths.ts';
import { getResultsFolder, type Workspace } from '../sandbox/sandbox.ts';
import { hashDescriptor } from './file-hashes.ts';
import type { ResultFile } from './made-results.ts';

/** Larger ones are files of their own. */
const maxJoinedBytes = 1024 ** 2;

/** What a folder and a file take on disk beside their bytes, roughly. */
export const keptFolderBytes = 8192;

/** Whether the file system below a folder was found to have no reflinks, by folder. */
const withoutReflinks = new Set<string>();

export type KeptResult = NonNullable<ResultFile['kept']>;

/** What came of one file. */
interface KeptCopy {
  /** Null where the file has fewer bytes than it should. */
  readonly sha256: string | null;
  readonly kept: KeptResult | null;
}

export interface ResultKeeper extends Disposable {
  /** Bytes that may still be kept; -1 where nothing can be. */
  readonly left: number;
  /** What all of it takes on disk; 0 where nothing is kept. */
  readonly bytes: number;
  /** Copies so many bytes of an open file and gives the hash of the copy. Where it cannot be written, only the hash. */
  copy(source: OpenFile, size: number): Promise<KeptCopy>;
  /** Takes back the copy that was made last: it is of a file that was being changed. */
  takeBack(): void;
  /** Removes all of it. */
  remove(): Promise<void>;
}

/** `most` is null where there is no room at all. */
export function createResultKeeper(place: Workspace, id: string, most: number | null): ResultKeeper {
  const { home, folder } = locateKept(place, id);
  const store = openBelow(home);
  let joined: { readonly file: OpenFile; readonly part: number } | null = null;
  let [parts, joinedEnd, taken, last] = [0, 0, 0, 0];
  let isBroken = most === null;

  /** The name of the next file; its folder is made where it is the first. */
  const nameNext = (): Components => {
    if (parts === 0) store.makeFolder(folder);
    return joinComponents(folder, parseName(String(parts)));
  };

  const create = (): { file: OpenFile; part: number } => {
    const file = store.create(nameNext());
    fchmodSync(file.fd, 0o600);
    return { file, part: parts++ };
  };

  const breakOff = (error: unknown): void => {
    if (!isWorkcrateError(error) && getErrno(error) === null) throw error;
    isBroken = true;
  };

  async function copyJoined({ fd }: OpenFile, size: number): Promise<KeptCopy> {
    joined ??= create();
    const { file, part } = joined;
    const at = joinedEnd;
    let end = at;
    const sha256 = await hashDescriptor(fd, size, Infinity, (piece) => {
      if (!isBroken) end = writeTo(file.fd, piece, end, breakOff);
    });
    if (isBroken || sha256 === null) return { sha256, kept: null };
    joinedEnd = end;
    return { sha256, kept: { part, at } };
  }

  async function copyAlone(source: OpenFile, size: number): Promise<KeptCopy> {
    const cloned = await clone(source, size);
    if (cloned !== null) return cloned;
    const { file, part } = create();
    using _file = file;
    let end = 0;
    const sha256 = await hashDescriptor(source.fd, size, Infinity, (piece) => {
      if (!isBroken) end = writeTo(file.fd, piece, end, breakOff);
    });
    return isBroken || sha256 === null ? { sha256, kept: null } : { sha256, kept: { part, at: 0 } };
  }

  /** The hash is that of the copy. Null where the file system has no reflinks. */
  async function clone(source: OpenFile, size: number): Promise<KeptCopy | null> {
    if (withoutReflinks.has(home)) return null;
    const name = nameNext();
    if (!(await store.clone(source, name))) {
      withoutReflinks.add(home);
      return null;
    }
    const part = parts++;
    using copy = store.open(name);
    fchmodSync(copy.fd, 0o600);
    const sha256 = copy.stats.size === size ? await hashDescriptor(copy.fd, size, Infinity) : null;
    return { sha256, kept: sha256 === null ? null : { part, at: 0 } };
  }

  return {
    get left() {
      return isBroken ? -1 : most! - taken;
    },
    get bytes() {
      return parts === 0 ? 0 : taken + keptFolderBytes;
    },
    async copy(source, size) {
      try {
        const copied = await (size <= maxJoinedBytes ? copyJoined : copyAlone)(source, size);
        last = copied.kept === null ? 0 : size;
        taken += last;
        return copied;
      } catch (error) {
        breakOff(error);
        return { sha256: await hashDescriptor(source.fd, size, Infinity), kept: null };
      }
    },
    takeBack() {
      taken -= last;
      last = 0;
    },
    remove: () => removeKept(place, id),
    [Symbol.dispose]() {
      joined?.file[Symbol.dispose]();
    },
  };
}

/** Where the kept bytes of a run are: from a folder that is the server's own on. */
function locateKept(place: Workspace, id: string): { home: string; folder: Components } {
  const results = getResultsFolder(place);
  return { home: dirname(results), folder: joinComponents(parseName(basename(results)), parseName(id)) };
}

/** Removes the kept bytes of a run, if there are any. */
export async function removeKept(place: Workspace, id: string): Promise<void> {
  const { home, folder } = locateKept(place, id);
  const store = openBelow(home);
  try {
    for (const { name } of store.list(folder).entries) store.remove(joinComponents(folder, parseName(name)));
    await store.removeFolder(folder);
  } catch (error) {
    // Another server was faster, or nothing was ever kept.
    if (!isWorkcrateError(error, 'path_not_found')) throw error;
  }
}

/** Gives where the next piece goes. */
function writeTo(fd: number, piece: Buffer, at: number, failed: (error: unknown) => void): number {
  try {
    for (let done = 0; done < piece.length;)
      done += writeSync(fd, piece, done, piece.length - done, at + done);
  } catch (error) {
    failed(error);
  }
  return at + piece.length;
}
