/** Saves what links lead to as files of a folder, under new names where a name is taken. It overwrites nothing. */
import { createWriteStream } from 'node:fs';
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  getErrno,
  WorkcrateError,
  cleanFilename,
  splitExtension,
  toSavedName,
  fetchBounded,
  FetchError,
  quoteName,
} from 'workcrate/toolkit';
import type { LinkInText } from './links.ts';

export interface SavedLink {
  readonly link: LinkInText;
  /** Null where it could not be fetched. */
  readonly path: string | null;
}

const policy = {
  timeoutMs: 3_600_000,
  maxBytes: 64 * 1024 ** 3,
  // The server may run on this machine, and whoever asked has named it.
  privateAddresses: 'allowed',
} as const;

const ownFolderName = 'workcrate-files';

/**
 * Makes a folder for what one request is answered with, in the current one: what came from elsewhere is not put among
 * files that programs look for there. It is always a new one, since a link of that name could lead anywhere.
 */
export async function makeOwnFolder(): Promise<string> {
  for (let count = 1; count <= maxNames; count++) {
    const name = count === 1 ? ownFolderName : `${ownFolderName}-${count}`;
    try {
      await mkdir(name);
      return name;
    } catch (error) {
      if (getErrno(error) !== 'EEXIST') throw saveError('.', String(getErrno(error)), error);
    }
  }
  throw saveError('.', `it has ${maxNames} folders named ${ownFolderName}`);
}

/** Fetches each link in turn. One that fails does not keep the others from being saved. */
export async function saveLinks(
  links: readonly LinkInText[],
  folder: string,
  signal: AbortSignal,
): Promise<SavedLink[]> {
  const saved: SavedLink[] = [];
  for (const link of links) saved.push({ link, path: await saveLink(link, folder, signal) });
  return saved;
}

async function saveLink({ url, filename }: LinkInText, folder: string, signal: AbortSignal) {
  try {
    return await fetchBounded(url, { signal }, policy, async ({ status, chunks }) => {
      if (status !== 200) return null;
      const { path, handle } = await createFile(folder, toSavedName(cleanFilename(filename ?? '')));
      try {
        await pipeline(chunks(), createWriteStream(path, { fd: handle }));
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
      return path;
    });
  } catch (error) {
    if (error instanceof FetchError) return null;
    throw error;
  }
}

const maxNames = 1000;

/** `report.pdf`, then `report-2.pdf`. */
async function createFile(folder: string, name: string): Promise<{ path: string; handle: FileHandle }> {
  const [stem, extension] = splitExtension(name);
  try {
    await mkdir(folder, { recursive: true });
    for (let count = 1; count <= maxNames; count++) {
      const path = join(folder, count === 1 ? name : `${stem}-${count}${extension}`);
      const handle = await openNew(path);
      if (handle !== null) return { path, handle };
    }
  } catch (error) {
    if (getErrno(error) === null) throw error;
    throw saveError(folder, String(getErrno(error)), error);
  }
  throw saveError(folder, `it has ${maxNames} files of that name`);
}

/** Null where there is something of that name. */
async function openNew(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'wx');
  } catch (error) {
    if (getErrno(error) === 'EEXIST') return null;
    throw error;
  }
}

const saveError = (folder: string, why: string, cause?: unknown): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `Nothing can be saved in ${quoteName(folder)} (${why}). Name another folder with --output.`,
    { cause },
  );
