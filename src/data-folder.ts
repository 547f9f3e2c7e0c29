import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errnoOf, WorkcrateError, type ErrorCode } from './errors.ts';
import { describeDeniedWrite } from './folder-owner.ts';
import { makeFolder } from './make-folder.ts';

/**
 * Holds a folder for this process alone, until it ends or lets go. Node has no file locks of its own; a
 * transaction on a SQLite file is one that the kernel takes back from a process that was killed.
 */
export function lockFolder(folder: string): Disposable {
  makeDataFolder(folder);
  try {
    return takeLock(folder);
  } catch (error) {
    throw isBusy(error) ? inUse(folder, error) : unusable(folder, error);
  }
}

/** Makes a folder that only the user of this process can look into, unless it is there; refuses one that cannot be written to. */
export function makeDataFolder(folder: string): void {
  try {
    makeFolder(folder, 0o700);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(folder, error);
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
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' && (code & 0xff) === 5;
}

function inUse(folder: string, cause: unknown): WorkcrateError {
  return new WorkcrateError(
    'data_in_use',
    `The data folder ${folder} is in use by another workcrate${holderOf(folder)}. Stop that one, or start this one with another folder and port: --data DIR --port 0.`,
    { cause },
  );
}

function holderOf(folder: string): string {
  try {
    return ` (process ${readFileSync(join(folder, 'pid'), 'utf8').trim()})`;
  } catch {
    return '';
  }
}

const reasons: Record<string, [ErrorCode, string]> = {
  EEXIST: ['storage_failed', 'it is a file'],
  ENOTDIR: ['storage_failed', 'a part of its path is a file'],
  ENOENT: ['storage_failed', 'nothing can be made there'],
  EROFS: ['storage_read_only', 'it can only be read'],
  ENOSPC: ['storage_full', 'the disk is full'],
  EDQUOT: ['storage_full', 'the disk quota of this user is used up'],
};

/** Why a folder cannot hold data, and what to do. */
function unusable(folder: string, cause: unknown): WorkcrateError {
  if (['EACCES', 'EPERM'].includes(errnoOf(cause) ?? '')) return denied(folder, cause);
  const plain = cause instanceof Error ? cause.message : String(cause);
  const [code, reason] = reasons[errnoOf(cause) ?? ''] ?? ['storage_failed', plain];
  return new WorkcrateError(
    code,
    `Cannot use ${folder} as the data folder: ${reason}. Choose another with --data.`,
    { cause },
  );
}

function denied(folder: string, cause: unknown): WorkcrateError {
  return new WorkcrateError(
    'storage_read_only',
    `Cannot use ${folder} as the data folder: ${describeDeniedWrite(folder)}. ` +
      'Make the user that runs the server its owner (chown), or choose another with --data.',
    { cause },
  );
}
