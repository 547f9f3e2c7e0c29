import { createHash } from 'node:crypto';
import { fchownSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf, isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { Files, StoredFile } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { belowRoot, joined, parseName, type Components } from '../paths/paths.ts';
import type { Limits, Place } from '../sandbox/sandbox.ts';
import type { InsideFolder } from './working-dir.ts';

/** A file that a run was given: enough to tell later what it worked on. */
export interface GivenFile {
  /** Null where it is not one of the stored files. */
  readonly fileId: string | null;
  /** Where it came from, in the words of whoever found it; null for a stored file. */
  readonly origin: Readonly<Record<string, string>> | null;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

/** A file from elsewhere. Whether the caller may have it has been judged already. */
export interface OtherFile {
  /** A plain name in the working folder. */
  readonly name: string;
  /** For the record, such as which crate and which path in it. */
  readonly origin: Readonly<Record<string, string>>;
  readonly size: number;
  /** All its bytes, `size` of them. Fails rather than give wrong ones, and when the signal fires. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface Giving {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  readonly place: Place;
  readonly folder: InsideFolder;
  readonly limits: Limits;
  readonly signal: AbortSignal;
}

/** A file to be copied, wherever it stands; what is not known of it yet is null. */
interface Wanted extends Omit<GivenFile, 'sha256'> {
  readonly sha256: string | null;
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Puts files into the folder that code is to run in, each under its own name: all or none. */
export async function giveFiles(
  giving: Giving,
  ids: readonly string[],
  others: readonly OtherFile[] = [],
): Promise<GivenFile[]> {
  if (ids.length + others.length === 0) return [];
  const stored = await Promise.all(ids.map((id) => findFile(giving, id)));
  const wanted = [...stored, ...others.map(fromElsewhere)];
  demandFit(giving, wanted);
  const placed: Components[] = [];
  const given: GivenFile[] = [];
  try {
    for (const file of wanted) given.push(await copyIn(giving, file, (path) => placed.push(path)));
  } catch (error) {
    for (const path of placed) removeQuietly(giving, path);
    // However a source put it.
    throw giving.signal.aborted ? cancelled(error) : error;
  }
  return given;
}

async function findFile({ files, caller }: Giving, id: string): Promise<Wanted> {
  const file = await files.find(caller, id);
  if (file === null)
    throw new WorkcrateError(
      'not_found',
      `No file of yours has the id ${id}. list_files shows what there is.`,
    );
  const { name, size, sha256 } = file;
  return { fileId: id, origin: null, name, size, sha256, read: () => storedBytes(files, file) };
}

export async function* storedBytes(files: Pick<Files, 'open'>, file: StoredFile): AsyncGenerator<Uint8Array> {
  await using object = await files.open(file);
  if (object === null) throw new WorkcrateError('bytes_gone', `The bytes of ${file.name} are gone.`);
  yield* object.read(0, object.size);
}

function fromElsewhere(file: OtherFile): Wanted {
  const { name, origin, size } = file;
  return { fileId: null, origin, name, size, sha256: null, read: (signal) => file.open(signal) };
}

function demandFit({ folder, limits }: Giving, wanted: readonly Wanted[]): void {
  if (folder.root === 'tmp')
    throw new WorkcrateError(
      'invalid_input',
      'Files cannot be put into /tmp. Leave working_dir out, or name one in /workspace.',
    );
  const names = new Set(wanted.map(({ name }) => name));
  if (names.size < wanted.length)
    throw new WorkcrateError(
      'invalid_input',
      'Two of the files have the same name. Give them to two runs, or one of them under another name.',
    );
  const large = wanted.find(({ size }) => size > limits.fileBytes);
  if (large !== undefined)
    throw new WorkcrateError(
      'too_large',
      `${large.name} takes ${large.size} bytes; a file in a run may take ${limits.fileBytes}.`,
    );
  const all = wanted.reduce((sum, { size }) => sum + size, 0);
  if (all > limits.diskBytes)
    throw new WorkcrateError(
      'too_large',
      `The files take ${all} bytes together; a run may have ${limits.diskBytes} on disk.`,
    );
}

async function copyIn(giving: Giving, file: Wanted, made: (path: Components) => void): Promise<GivenFile> {
  const { place, folder } = giving;
  const path = joined(folder.below, parseName(file.name));
  using target = create(giving, path, file.name);
  made(path);
  const sha256 = await copyBytes(giving, file, target.fd);
  if (place.uid !== null) fchownSync(target.fd, place.uid, place.uid);
  const { fileId, origin, name, size } = file;
  return { fileId, origin, name, size, sha256 };
}

/** Gives the sha256, which is counted only where it is not known. */
async function copyBytes({ signal }: Giving, file: Wanted, fd: number): Promise<string> {
  const hash = file.sha256 === null ? createHash('sha256') : null;
  let left = file.size;
  for await (const chunk of file.read(signal)) {
    signal.throwIfAborted();
    left -= chunk.length;
    if (left < 0) break;
    hash?.update(chunk);
    await writeAll(fd, chunk);
  }
  if (left !== 0)
    throw new WorkcrateError(
      'size_mismatch',
      `${file.name} does not have the ${file.size} bytes that it should.`,
    );
  return file.sha256 ?? hash!.digest('hex');
}

function cancelled(cause: unknown): WorkcrateError {
  return new WorkcrateError('cancelled', 'The call was cancelled.', { cause });
}

const writeBytes = promisify(write);

async function writeAll(fd: number, chunk: Uint8Array): Promise<void> {
  try {
    for (let done = 0; done < chunk.length;) done += (await writeBytes(fd, chunk, done)).bytesWritten;
  } catch (cause) {
    if (!['ENOSPC', 'EDQUOT'].includes(errnoOf(cause) ?? '')) throw cause;
    const message = 'The disk of the working directory is full. Remove files from it, or give fewer.';
    throw new WorkcrateError('storage_full', message, { cause });
  }
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
