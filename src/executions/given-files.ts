import { fchownSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { Files, StoredFile } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { belowRoot, joined, parseName, type Components } from '../paths/paths.ts';
import type { Limits, Place } from '../sandbox/sandbox.ts';
import type { InsideFolder } from './working-dir.ts';

/** A stored file that a run was given: enough to tell later what it worked on. */
export interface GivenFile {
  readonly fileId: string;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

export interface Giving {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  readonly place: Place;
  readonly folder: InsideFolder;
  readonly limits: Limits;
  readonly signal: AbortSignal;
}

/** Puts files of the caller's into the folder that code is to run in, each under its own name: all or none. */
export async function giveFiles(giving: Giving, ids: readonly string[]): Promise<GivenFile[]> {
  if (ids.length === 0) return [];
  const found = await Promise.all(ids.map((id) => findFile(giving, id)));
  demandFit(giving, found);
  const placed: Components[] = [];
  try {
    for (const file of found) await copyIn(giving, file, (path) => placed.push(path));
  } catch (error) {
    for (const path of placed) removeQuietly(giving, path);
    throw error;
  }
  return found.map(({ id, name, size, sha256 }) => ({ fileId: id, name, size, sha256 }));
}

async function findFile({ files, caller }: Giving, id: string): Promise<StoredFile> {
  const file = await files.find(caller, id);
  if (file !== null) return file;
  throw new WorkcrateError('not_found', `No file of yours has the id ${id}. list_files shows what there is.`);
}

function demandFit({ folder, limits }: Giving, found: readonly StoredFile[]): void {
  if (folder.root === 'tmp')
    throw new WorkcrateError(
      'invalid_input',
      'Files cannot be put into /tmp. Leave working_dir out, or name one in /workspace.',
    );
  const names = new Set(found.map(({ name }) => name));
  if (names.size < found.length)
    throw new WorkcrateError(
      'invalid_input',
      'Two of the files have the same name. Give them to two runs, or upload one under another name.',
    );
  const large = found.find(({ size }) => size > limits.fileBytes);
  if (large !== undefined)
    throw new WorkcrateError(
      'too_large',
      `${large.name} takes ${large.size} bytes; a file in a run may take ${limits.fileBytes}.`,
    );
}

const writeBytes = promisify(write);

async function copyIn(giving: Giving, file: StoredFile, made: (path: Components) => void): Promise<void> {
  const { files, place, folder, signal } = giving;
  await using object = await files.open(file);
  if (object === null) throw new WorkcrateError('bytes_gone', `The bytes of ${file.name} are gone.`);
  const path = joined(folder.below, parseName(file.name));
  using target = create(giving, path, file.name);
  made(path);
  for await (const chunk of object.read(0, object.size)) {
    signal.throwIfAborted();
    for (let done = 0; done < chunk.length;) done += (await writeBytes(target.fd, chunk, done)).bytesWritten;
  }
  if (place.uid !== null) fchownSync(target.fd, place.uid, place.uid);
}

function create({ place, folder }: Giving, path: Components, name: string) {
  try {
    return belowRoot(rootOf(place, folder)).create(path);
  } catch (error) {
    if (!isWorkcrateError(error, 'already_exists')) throw error;
    const message = `There is a ${name} in the working directory already. Leave it out of files, or choose another working_dir.`;
    throw new WorkcrateError('already_exists', message, { cause: error });
  }
}

function removeQuietly({ place, folder }: Giving, path: Components): void {
  try {
    belowRoot(rootOf(place, folder)).remove(path);
  } catch (error) {
    // Other code of the user's may have moved it meanwhile; then it is theirs.
    if (!isWorkcrateError(error)) throw error;
  }
}

const rootOf = (place: Place, { root }: InsideFolder): string =>
  root === 'artifacts' ? place.artifacts : place.workspace;
