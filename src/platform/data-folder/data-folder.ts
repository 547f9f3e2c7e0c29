/**
 * Locks the data folder for one process, makes it, and explains why one cannot be used. It does not know what is in it,
 * and does not protect it from other programs.
 */
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { getErrno, WorkcrateError, type ErrorCode } from '../errors.ts';

/**
 * Locks a folder for this process alone, until it ends or disposes of the lock. Node has no file locks of its own, so a
 * transaction on a SQLite file is used: the kernel releases it if the process is killed.
 */
export function lockFolder(folder: string): Disposable {
  makeDataFolder(folder);
  try {
    return takeLock(folder);
  } catch (error) {
    throw isLockBusyError(error) ? folderInUseError(folder, error) : unusableFolderError(folder, error);
  }
}

/** Makes a folder that only the user of this process can look into, unless it is there; refuses one that cannot be written to. */
export function makeDataFolder(folder: string): void {
  try {
    makeFolderAndParents(folder, 0o700);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusableFolderError(folder, error);
  }
}

function takeLock(folder: string): Disposable {
  using opened = new DisposableStack();
  // SQLite would let everybody read it.
  closeSync(openSync(join(folder, 'lock.db'), 'a', 0o600));
  const lock = opened.adopt(new DatabaseSync(join(folder, 'lock.db'), { timeout: 0 }), (it) => it.close());
  lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  writeFileSync(join(folder, 'pid'), `${process.pid}\n`, { mode: 0o600 });
  if (process.getuid?.() === 0) giveToOwner(folder);
  return opened.move();
}

/** Root may have called `check` in the folder of a server that runs as another user, and could not start any more. */
function giveToOwner(folder: string): void {
  const { uid, gid } = statSync(folder);
  for (const name of ['lock.db', 'pid']) chownSync(join(folder, name), uid, gid);
}

/** SQLITE_BUSY; the low byte is the primary code. */
function isLockBusyError(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' && (code & 0xff) === 5;
}

function folderInUseError(folder: string, cause: unknown): WorkcrateError {
  return new WorkcrateError(
    'data_in_use',
    `The data folder ${folder} is in use by another workcrate${describeLockHolder(folder)}. Stop that one, or start this one with another folder and port: --data DIR --port 0.`,
    { cause },
  );
}

function describeLockHolder(folder: string): string {
  try {
    return ` (process ${readFileSync(join(folder, 'pid'), 'utf8').trim()})`;
  } catch {
    return '';
  }
}

const folderFailures: Record<string, [ErrorCode, string]> = {
  EEXIST: ['storage_failed', 'it is a file'],
  ENOTDIR: ['storage_failed', 'a part of its path is a file'],
  ENOENT: ['storage_failed', 'nothing can be made there'],
  EROFS: ['storage_read_only', 'it can only be read'],
  ENOSPC: ['storage_full', 'the disk is full'],
  EDQUOT: ['storage_full', 'the disk quota of this user is used up'],
};

/** Why a folder cannot hold data, and what to do. */
function unusableFolderError(folder: string, cause: unknown): WorkcrateError {
  if (['EACCES', 'EPERM'].includes(getErrno(cause) ?? '')) return folderDeniedError(folder, cause);
  const plain = cause instanceof Error ? cause.message : String(cause);
  const [code, reason] = folderFailures[getErrno(cause) ?? ''] ?? ['storage_failed', plain];
  return new WorkcrateError(
    code,
    `Cannot use ${folder} as the data folder: ${reason}. Choose another with --data.`,
    { cause },
  );
}

function folderDeniedError(folder: string, cause: unknown): WorkcrateError {
  return new WorkcrateError(
    'storage_read_only',
    `Cannot use ${folder} as the data folder: ${describeDeniedWrite(folder)}. ` +
      'Make the user that runs the server its owner (chown), or choose another with --data.',
    { cause },
  );
}

/** Who may not write to a folder and whose it is, for an operator: a restore by root often leaves it to root. */
function describeDeniedWrite(folder: string): string {
  const found = findNearestFolder(folder);
  const runner = describeUser(process.geteuid?.() ?? -1);
  if (found === null) return `user ${runner} may not write there`;
  const { path, stats } = found;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
  return `user ${runner} may not write to ${path}, which belongs to ${describeUser(stats.uid)}, mode ${mode}`;
}

/** The folder itself, or the nearest one above it that can be looked at. */
function findNearestFolder(path: string): { readonly path: string; readonly stats: Stats } | null {
  try {
    return { path, stats: statSync(path) };
  } catch (error) {
    if (getErrno(error) === null) throw error;
    return dirname(path) === path ? null : findNearestFolder(dirname(path));
  }
}

function describeUser(uid: number): string {
  const name = findUserName(uid);
  return name === null ? `uid ${uid}` : `${name} (uid ${uid})`;
}

function findUserName(uid: number): string | null {
  const users = readUsers().split('\n');
  const fields = users.map((line) => line.split(':')).find(([, , id]) => id === String(uid));
  return fields?.[0] ?? null;
}

function readUsers(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch (error) {
    if (getErrno(error) === null) throw error;
    return '';
  }
}

/**
 * Makes a folder and the folders above it that are missing. Node's own `recursive` never returns below a folder that
 * takes no new ones and says ENOENT, such as /proc: it makes the parent, which is there, and tries again for ever.
 */
export function makeFolderAndParents(path: string, mode = 0o777): void {
  if (isUsableFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolderAndParents(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (getErrno(error) !== 'EEXIST' || !isUsableFolder(path)) throw error;
  }
}

function isUsableFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG'].includes(getErrno(error) ?? ''))
      return false;
    throw error;
  }
}
