/**
 * Copies files into the working directory before a run: all or none, checked by size and sha256, and takes back those that
 * the run left as they were. It does not find
 * files of crates or of the client: `client-and-crate-files.ts` does, and gives them as a stream.
 */
import { createHash } from 'node:crypto';
import { fchownSync, fstatSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Files, StoredFile } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openBelow, joinComponents, parseName, type Components } from '../../platform/paths/paths.ts';
import { programName } from '../../platform/program.ts';
import type { Workspace, Sandbox } from '../../ports/sandbox/sandbox.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { hashExisting } from './client-and-crate-files.ts';
import { isTemporary, type InsideFolder } from './working-dir.ts';
import { formatFileState, readFileState, type FileState } from './difference.ts';

/** A file that a run was given: enough to tell later what it worked on. */
export interface InputFileRecord {
  /** Null where it is not one of the stored files. */
  readonly fileId: string | null;
  /** Where it came from, in the words of whoever found it; null for a stored file. */
  readonly origin: Readonly<Record<string, string>> | null;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

/** A file that is not stored here. That the caller may read it was checked already. */
export interface OtherFile {
  /** A plain name in the working folder. */
  readonly name: string;
  /** For the record, such as which crate and which path in it. */
  readonly origin: Readonly<Record<string, string>>;
  readonly size: number;
  /** Whether it takes the place of what an earlier run was given under its name, if nobody changed that since. */
  readonly replacesInput?: boolean;
  /** All its bytes, `size` of them. Fails rather than give wrong ones, and when the signal fires. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface CopyContext {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  readonly place: Workspace;
  readonly folder: InsideFolder;
  readonly sandbox: Pick<Sandbox, 'limits' | 'claimDisk'>;
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Whether an earlier run of the caller was given these bytes under this name. */
  readonly wasGiven: (input: Pick<InputFileRecord, 'name' | 'sha256'>) => Promise<boolean>;
}

/** The files that a run was given. Disposing of them takes back what was copied, unless they are kept. */
export interface Inputs extends Disposable {
  readonly files: readonly InputFileRecord[];
  /** The run has begun, so they are its own now. */
  keep(): void;
  /** Removes the copies of stored files that nobody has changed: whoever wants the bytes has them by their file_id. */
  removeUnchanged(): Promise<void>;
}

/** A file to copy, from any source; what is not known of it yet is null. */
interface WantedInput extends Omit<InputFileRecord, 'sha256'> {
  readonly sha256: string | null;
  readonly replacesInput?: boolean;
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/**
 * Puts files into the folder that code is to run in, each under its own name: all or none. Nothing is copied that does
 * not fit. A file that is there already with the same bytes is used as it is.
 */
export async function copyInputs(
  giving: CopyContext,
  ids: readonly string[],
  others: readonly OtherFile[] = [],
): Promise<Inputs> {
  if (ids.length + others.length === 0) {
    using _claim = await claimDiskFor(giving, []);
    return toInputs(giving, [], []);
  }
  const stored = await Promise.all(ids.map((id) => findStoredInput(giving, id)));
  const wanted = [...stored, ...others.map(toWantedInput)];
  requireInputsFit(giving, wanted);
  const copies: InputCopy[] = [];
  try {
    const there: (InputFileRecord | null)[] = [];
    for (const file of wanted) there.push(await findExisting(giving, file));
    const missing = wanted.filter((_, at) => there[at] === null);
    using _claim = await claimDiskFor(giving, missing);
    const given: InputFileRecord[] = [];
    for (const [at, file] of wanted.entries())
      given.push(there[at] ?? (await copyInput(giving, file, copies)));
    return toInputs(giving, given, copies);
  } catch (error) {
    removeCopies(getInputRoot(giving.place, giving.folder), copies);
    // However a source put it.
    throw giving.signal.aborted ? inputCancelledError(error) : error;
  }
}

function toInputs(
  { place, folder, log, caller }: CopyContext,
  files: readonly InputFileRecord[],
  copies: readonly InputCopy[],
): Inputs {
  const base = getInputRoot(place, folder);
  const readyAt = Date.now();
  let isKept = false;
  return {
    files,
    keep: () => void (isKept = true),
    async removeUnchanged() {
      try {
        if (isKept) await removeUnchangedCopies(base, copies, readyAt);
      } catch (error) {
        log.error('execution.inputs_not_removed', { user: caller.user, error });
      }
    },
    [Symbol.dispose]: () => void (isKept || removeCopies(base, copies)),
  };
}

/** File systems give out whole blocks. */
const diskBlockBytes = 4096;

async function claimDiskFor(
  { sandbox, place, signal }: CopyContext,
  files: readonly WantedInput[],
): Promise<Disposable> {
  const bytes = files.reduce((sum, { size }) => sum + Math.ceil(size / diskBlockBytes) * diskBlockBytes, 0);
  const claim = await sandbox.claimDisk(place, bytes);
  if (!signal.aborted) return claim;
  claim[Symbol.dispose]();
  throw inputCancelledError(signal.reason);
}

async function findStoredInput({ files, caller }: CopyContext, id: string): Promise<WantedInput> {
  const file = await files.find(caller, id);
  if (file === null)
    throw new WorkcrateError(
      'not_found',
      `No file of yours has the id ${id}. list_files shows what there is.`,
    );
  const { name, size, sha256 } = file;
  return { fileId: id, origin: null, name, size, sha256, read: () => readStoredBytes(files, file) };
}

export async function* readStoredBytes(
  files: Pick<Files, 'open'>,
  file: StoredFile,
): AsyncGenerator<Uint8Array> {
  await using object = await files.open(file);
  if (object === null)
    throw new WorkcrateError(
      'bytes_gone',
      `The bytes of ${file.name} are gone. Send the file again (request_upload).`,
    );
  yield* object.read(0, object.size);
}

function toWantedInput(file: OtherFile): WantedInput {
  const { name, origin, size, replacesInput = false } = file;
  const read: WantedInput['read'] = (signal) => file.open(signal);
  return { fileId: null, origin, name, size, sha256: null, replacesInput, read };
}

function requireInputsFit(
  { folder, sandbox: { limits } }: CopyContext,
  wanted: readonly WantedInput[],
): void {
  if (isTemporary(folder.root))
    throw new WorkcrateError(
      'invalid_input',
      'Files cannot be put into /tmp or ~, which are made when the run starts. Leave working_dir out, or name one in /workspace.',
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
      `${large.name} has ${formatBytes(large.size)}; a file in a run may have at most ${formatBytes(limits.fileBytes)}.`,
    );
  const all = wanted.reduce((sum, { size }) => sum + size, 0);
  if (all > limits.diskBytes)
    throw new WorkcrateError(
      'too_large',
      `The files have ${formatBytes(all)} together; a run may have at most ${formatBytes(limits.diskBytes)} on disk.`,
    );
}

/** The file that is there already, if it has the bytes that it should; null where nothing is there. */
async function findExisting(giving: CopyContext, file: WantedInput): Promise<InputFileRecord | null> {
  const { place, folder, signal } = giving;
  const path = joinComponents(folder.below, parseName(file.name));
  const found = await hashExisting(getInputRoot(place, folder), path, file.size, signal);
  if (found === null) return null;
  const { fileId, origin, name, size } = file;
  const sha256 = file.sha256 ?? (found === 'other' ? null : await readAndHash(giving, file, async () => {}));
  if (found !== 'other' && found === sha256) return { fileId, origin, name, size, sha256 };
  if (file.replacesInput && (await removeEarlierInput(giving, path, name))) return null;
  throw inputExistsError(name);
}

/** Removes what an earlier run was given, for its newer version. What code wrote or changed stays, and nothing is done. */
async function removeEarlierInput(giving: CopyContext, path: Components, name: string): Promise<boolean> {
  const { place, folder, signal, wasGiven } = giving;
  const root = getInputRoot(place, folder);
  const there = await hashExisting(root, path, null, signal);
  if (there === null || there === 'other' || !(await wasGiven({ name, sha256: there }))) return false;
  openBelow(root).remove(path);
  return true;
}

async function copyInput(
  giving: CopyContext,
  file: WantedInput,
  copies: InputCopy[],
): Promise<InputFileRecord> {
  const { place, folder } = giving;
  const path = joinComponents(folder.below, parseName(file.name));
  using target = createInput(giving, path, file.name);
  const copy: InputCopy = { path, inode: fstatSync(target.fd).ino, whole: null };
  copies.push(copy);
  const sha256 = await readAndHash(giving, file, (chunk) => writeWholeChunk(target.fd, chunk));
  if (file.sha256 !== null && sha256 !== file.sha256) throw inputDamagedError(giving, file, sha256);
  if (place.uid !== null) fchownSync(target.fd, place.uid, place.uid);
  if (file.fileId !== null) copy.whole = { state: readFileState(target.fd), sha256 };
  const { fileId, origin, name, size } = file;
  return { fileId, origin, name, size, sha256 };
}

/** Gives the sha256 of what was read, so that a record never names other bytes than the run had. */
async function readAndHash(
  { signal }: CopyContext,
  file: WantedInput,
  take: (chunk: Uint8Array) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256');
  let left = file.size;
  for await (const chunk of file.read(signal)) {
    signal.throwIfAborted();
    left -= chunk.length;
    if (left < 0) break;
    hash.update(chunk);
    await take(chunk);
  }
  if (left !== 0)
    throw new WorkcrateError(
      'size_mismatch',
      `${file.name} does not have the ${file.size} bytes that it should.`,
    );
  return hash.digest('hex');
}

function inputDamagedError(
  { log, caller }: CopyContext,
  { fileId, name, sha256 }: WantedInput,
  found: string,
): WorkcrateError {
  log.error('file.damaged', { user: caller.user, file_id: fileId, sha256, found });
  return new WorkcrateError(
    'storage_failed',
    `The stored bytes of ${name} are damaged: their sha256 is ${found}, and was ${sha256} when the file was stored. The run was not started. Send the file again (request_upload). The operator can look for more damage with ${programName} check --read-data.`,
  );
}

function inputCancelledError(cause: unknown): WorkcrateError {
  return new WorkcrateError('cancelled', 'The call was cancelled.', { cause });
}

const writeDescriptor = promisify(write);

async function writeWholeChunk(fd: number, chunk: Uint8Array): Promise<void> {
  try {
    for (let done = 0; done < chunk.length;) done += (await writeDescriptor(fd, chunk, done)).bytesWritten;
  } catch (cause) {
    if (!['ENOSPC', 'EDQUOT'].includes(getErrno(cause) ?? '')) throw cause;
    const message = 'The disk of the working directory is full. Remove files from it, or give fewer.';
    throw new WorkcrateError('storage_full', message, { cause });
  }
}

function createInput({ place, folder }: CopyContext, path: Components, name: string) {
  try {
    return openBelow(getInputRoot(place, folder)).create(path);
  } catch (error) {
    if (!isWorkcrateError(error, 'already_exists')) throw error;
    throw inputExistsError(name, error);
  }
}

function inputExistsError(name: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'already_exists',
    `The working directory already has a different ${name}. To use that file, leave the input out. To use the input, delete or rename that file first, or choose another working_dir.`,
    { cause },
  );
}

const getInputRoot = (place: Workspace, { root }: InsideFolder): string =>
  root === 'artifacts' ? place.artifacts : place.workspace;

/** A file that was made here. */
interface InputCopy {
  readonly path: Components;
  readonly inode: number;
  /** Once it is whole, where its bytes are also stored elsewhere. */
  whole: { readonly state: FileState; readonly sha256: string } | null;
}

function removeCopies(base: string, copies: readonly InputCopy[]): void {
  for (const { path, inode } of copies) removeIf(base, path, (file) => file.stats.ino === inode);
}

/** The kernel stamps files by a clock that may be a tick behind: a write of the run may have the time of the copy. */
const clockLagMs = 20;

/**
 * Removes the copies that are as they were, by their state or else by their bytes. To be called when the run is over.
 * `readyAt` is when the last of them was made, in milliseconds.
 */
async function removeUnchangedCopies(
  base: string,
  copies: readonly InputCopy[],
  readyAt: number,
): Promise<void> {
  for (const { path, whole } of copies) {
    if (whole === null) continue;
    const isSettled = whole.state.changed < BigInt(readyAt - clockLagMs) * 1_000_000n;
    const isSame = (state: FileState): boolean => formatFileState(state) === formatFileState(whole.state);
    const removed = isSettled && removeIf(base, path, ({ fd }) => isSame(readFileState(fd)));
    if (!removed && (await hasBytes(base, path, whole.state.size, whole.sha256)))
      removeIf(base, path, () => true);
  }
}

async function hasBytes(base: string, path: Components, size: bigint, sha256: string): Promise<boolean> {
  return (await hashExisting(base, path, Number(size), new AbortController().signal)) === sha256;
}

type OpenCopy = ReturnType<ReturnType<typeof openBelow>['open']>;

function removeIf(base: string, path: Components, isRight: (file: OpenCopy) => boolean): boolean {
  const root = openBelow(base);
  try {
    using file = root.open(path);
    if (!isRight(file)) return false;
    root.remove(path);
    return true;
  } catch (error) {
    // Other code of the user's may have moved it meanwhile; then it is theirs.
    if (!isWorkcrateError(error)) throw error;
    return false;
  }
}
