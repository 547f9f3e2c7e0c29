/**
 * One artifact that is open for reading: which names are allowed, how its bytes are read, and the errors with the
 * exact texts of the specification. It does not know where the folder is: `artifacts.ts` does.
 */
import { fstatSync, read, type BigIntStats, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import {
  asWorkcrateError,
  getErrno,
  isWorkcrateError,
  publicMessage,
  WorkcrateError,
} from '../../platform/errors.ts';
import {
  parseName,
  type Components,
  type OpenFile,
  type PathRefusalKind,
  type FolderRoot,
} from '../../platform/paths/paths.ts';

/** A multiple of three, so that the base64 of the pieces is that of the whole. */
const artifactPieceBytes = 3 * 256 * 1024;
const readDescriptorAt = promisify(read);

/** A file that a user's runs left in /artifacts, held open. */
export interface Artifact extends Disposable {
  readonly name: string;
  readonly size: number;
  /** The whole file in pieces; fails if it changes meanwhile. */
  bytes(): AsyncGenerator<Buffer, void>;
}

/** Whether something can be the name of an artifact. */
export const isPlainArtifactName = (name: string): boolean => /^(?!\.)[^/\\]+$/.test(name);

/** Refuses what cannot be the name of an artifact, before anything is looked up. */
export function checkArtifactName(name: string): void {
  if (/[/\\]/.test(name)) throw notAFilenameError(name);
  if (name.startsWith('.')) throw startsWithDotError(name);
}

/** The /artifacts of a user. */
export interface ArtifactFolder {
  readonly root: FolderRoot;
  /** Whether the user's own runs can read a file with these stats. */
  readonly canRead: (stats: Stats | BigIntStats) => boolean;
}

/** Opening reads no byte. The file is checked as it was before, and again as it is now. */
export function openArtifact(
  { root, canRead }: ArtifactFolder,
  name: string,
  limit: number,
  parse: (name: string) => Components = parseName,
): Artifact {
  const found = withArtifactErrors('size', name, () => root.stat(parse(name)));
  if (found.type !== 'file') throw artifactNotFoundError(name);
  using opened = new DisposableStack();
  const file = opened.use(withArtifactErrors('encode', name, () => root.open(parse(name))));
  const stats = fstatSync(file.fd, { bigint: true });
  for (const judged of [file.stats, stats]) {
    // Of somebody else's file, not even the size is revealed.
    if (!canRead(judged)) throw artifactNotFoundError(name);
    if (judged.size > limit) throw artifactTooLargeError(name, Number(judged.size), limit);
  }
  const held = opened.move();
  const size = Number(stats.size);
  return { name, size, bytes: () => readArtifactPieces(file, stats), [Symbol.dispose]: () => held.dispose() };
}

function withArtifactErrors<T>(what: 'size' | 'encode', name: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw isArtifactAbsence(error) ? artifactNotFoundError(name, error) : artifactFailedError(what, error);
  }
}

export async function readAsBase64(artifact: Artifact): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of artifact.bytes()) pieces.push(piece.toString('base64'));
  return pieces.join('');
}

async function* readArtifactPieces({ fd }: OpenFile, stats: BigIntStats): AsyncGenerator<Buffer, void> {
  const size = Number(stats.size);
  for (let done = 0; done < size; done += artifactPieceBytes) {
    // A new one each time: storage gathers several before it writes them.
    const piece = Buffer.allocUnsafe(Math.min(artifactPieceBytes, size - done));
    await fillPiece(fd, piece, done);
    yield piece;
  }
  const now = fstatSync(fd, { bigint: true });
  if (now.size !== stats.size || now.mtimeNs !== stats.mtimeNs) throw artifactChangedError();
}

async function fillPiece(fd: number, piece: Buffer, position: number): Promise<void> {
  for (let done = 0; done < piece.length;) {
    const { bytesRead } = await readDescriptorPiece(fd, piece, done, position + done);
    if (bytesRead === 0) throw artifactChangedError();
    done += bytesRead;
  }
}

async function readDescriptorPiece(fd: number, into: Buffer, offset: number, position: number) {
  try {
    return await readDescriptorAt(fd, into, offset, into.length - offset, position);
  } catch (error) {
    throw artifactFailedError('encode', error);
  }
}

function artifactChangedError(): WorkcrateError {
  const reason = 'it changed during reading; try again when the program that writes it has ended';
  return artifactFailedError('encode', new WorkcrateError('artifact_failed', reason));
}

/** The texts are part of the specification (A3, A5, A6, A7): programs and people know them. */
function notAFilenameError(name: string): WorkcrateError {
  return invalidArtifactNameError(name, String.raw`must be a filename, not a path (no '/' or '\' allowed)`);
}

function startsWithDotError(name: string): WorkcrateError {
  return invalidArtifactNameError(name, "cannot start with '.'");
}

export function brokenEncodingError(name: string): WorkcrateError {
  return invalidArtifactNameError(name, 'its percent encoding is broken');
}

function invalidArtifactNameError(name: string, reason: string): WorkcrateError {
  return new WorkcrateError('invalid_input', `Invalid artifact path '${name}': ${reason}`);
}

export function artifactNotFoundError(name: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError('not_found', `Artifact not found: ${name}`, { cause });
}

function artifactTooLargeError(name: string, size: number, limit: number): WorkcrateError {
  return new WorkcrateError(
    'artifact_too_large',
    `Artifact '${name}' is ${size} bytes, exceeds limit of ${limit} bytes`,
    { details: { size, limit } },
  );
}

const artifactFailureTexts = {
  list: 'Failed to list artifacts',
  size: 'Failed to check artifact size',
  encode: 'Failed to encode artifact',
} as const;

export function artifactFailedError(
  attempt: keyof typeof artifactFailureTexts,
  cause: unknown,
): WorkcrateError {
  return new WorkcrateError(
    'artifact_failed',
    `${artifactFailureTexts[attempt]}: ${describeFileSystemFailure(cause)}`,
    { cause },
  );
}

/** Does not reveal where the user's folder is on this machine. */
function describeFileSystemFailure(cause: unknown): string {
  const errno = getErrno(cause);
  return errno === null ? publicMessage(asWorkcrateError(cause)) : `the filesystem answered ${errno}`;
}

/** Refusals that mean that no file which may be had has that name. The others are failures. */
const absenceKinds: ReadonlySet<unknown> = new Set<PathRefusalKind>([
  'empty',
  'nul',
  'not_unicode',
  'too_long',
  'link',
  'hidden',
  'not_regular',
]);

function isArtifactAbsence(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_not_found')) return true;
  return isWorkcrateError(error, 'path_refused') && absenceKinds.has(error.details['kind']);
}
