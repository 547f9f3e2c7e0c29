/**
 * The port that every storage backend implements: objects by key, staging of uploads, quarantine. It knows no user, name
 * or quota (`core/files/` does), and opens no backend (`open.ts`).
 */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { getErrno, WorkcrateError, type ErrorCode } from '../../platform/errors.ts';

/** What a stored object is, without its bytes. */
export interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** When the object was made, in milliseconds. */
  readonly modified: number;
}

/**
 * An open object. Close it. If the storage `holdsRemoved`, it stays readable to the end even if it is removed
 * meanwhile; otherwise reading it then fails, and never yields other bytes.
 */
export interface OpenObject extends AsyncDisposable {
  readonly size: number;
  /**
   * The bytes from `start` to before `end`. A chunk is valid only until the next one is asked for: a
   * caller that keeps it must copy it. Rejects when `signal` fires.
   */
  read(start: number, end: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** A file descriptor on the whole object where the backend has one, to read at any offset; null elsewhere. */
  readonly descriptor: number | null;
}

export interface ObjectPage {
  readonly objects: StoredObject[];
  /** Pass as `after` for the next page; null at the end. Not necessarily a key. */
  readonly next: string | null;
}

/** A URL with which a client may fetch or send an object directly, without this server in between. */
export interface PresignedUrl {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly expiresAt: number;
}

/**
 * Where bytes are kept. Keys are parts of the form `[a-z0-9][a-z0-9_-]*` with `/` between, at most 200 characters. Objects never change.
 *
 * Every failure is a WorkcrateError: `storage_full`, `storage_read_only`, `out_of_descriptors` if the
 * cause is known, else `storage_failed`. Absence is null, never an error.
 */
export interface Storage {
  readonly kind: string;

  /** Whether other processes may use the same storage at the same time. */
  readonly isShared: boolean;

  /** Whether objects outlive the process. */
  readonly isLasting: boolean;

  /** Whether an open object outlives its removal. */
  readonly holdsRemoved: boolean;

  /** The object, or null if there is none. */
  stat(key: string): Promise<StoredObject | null>;

  /** Opens for reading, or null if there is none. */
  open(key: string): Promise<OpenObject | null>;

  /** Ordered by key. A page holds at most `limit` (default 1,000); objects made meanwhile may be missing. */
  list(options?: { prefix?: string; after?: string; limit?: number }): Promise<ObjectPage>;

  /** Durable when it resolves; removing what is not there is no error. */
  remove(key: string): Promise<void>;

  /** Bytes on their way in. On S3 this is a multipart upload, on Azure a block list. */
  readonly staging: Staging;

  /** Returns a URL that works until `expiresAt` (milliseconds); null if the backend cannot make one. */
  presign(
    method: 'GET' | 'PUT',
    key: string,
    expiresAt: number,
    response?: { contentType: string; contentDisposition: string },
  ): Promise<PresignedUrl | null>;

  /**
   * Where an object is as a plain file, as a path from the folder of all objects, for a web server beside this one
   * that can read that folder. Backends that keep no such files leave it out.
   */
  localPath?(key: string): string;

  /**
   * Rejects with `storage_full` if so many more bytes would leave too little space. Backends that do not know their free
   * space leave it out; the others check at every `append`, too.
   */
  demandSpace?(bytes: number): Promise<void>;

  /** Where objects without a row are put instead of being deleted. Optional. */
  readonly quarantine?: Quarantine;

  /** Proves that the backend answers and can be written to; rejects with the reason. */
  probe(): Promise<void>;

  close(): Promise<void>;
}

/** Objects that were put aside, by day (`2026-11-16`). They are no longer listed as objects. */
export interface Quarantine {
  /** Moves an object there; no error where there is none. */
  take(key: string, day: string): Promise<void>;
  list(): Promise<QuarantinedDay[]>;
  /** Deletes all that was put aside on that day. */
  drop(day: string): Promise<void>;
}

export interface QuarantinedDay {
  readonly day: string;
  readonly objects: number;
  readonly bytes: number;
}

/**
 * Uploads that are not objects yet. An id is of the form of a key without `/`. One writer at a time per
 * id: the caller sees to it. Staged bytes are not listed as objects.
 */
export interface Staging {
  /** How many bytes are stored durably for this id; 0 if there are none. */
  size(id: string): Promise<number>;

  /**
   * Adds bytes at `offset`, which must be `size(id)`, else `offset_conflict`. Offset 0 starts afresh and
   * drops what was there. Resolves with the new size once that is durable. If `bytes` throws or `signal`
   * fires, what came before is kept durably and the error is passed on, so that a later append goes on.
   * No chunk is used after the next one is asked for: its memory may be reused.
   */
  append(
    id: string,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    options?: AppendOptions,
  ): Promise<number>;

  /**
   * Turns the staged bytes into the object `key`, whole or not at all, durable when it resolves. A key
   * that exists already is `already_exists`, and both sides stay as they were. An id never appended to
   * makes an empty object.
   */
  commit(id: string, key: string): Promise<StoredObject>;

  /** Drops the staged bytes; no error if there are none. */
  discard(id: string): Promise<void>;

  /** All staged uploads, for the sweep of abandoned ones. */
  list(): Promise<Staged[]>;

  /**
   * Shortens the staged bytes to `size`; no error if there are fewer. Only for backends whose `size` may be too large after
   * a power loss, as on a file system that returns unwritten pages as zeros: there the caller records how much was
   * synced, and cuts off the rest before it appends.
   */
  cutBack?(id: string, size: number): Promise<void>;

  /**
   * Turns the object `key` into staged bytes again, if a crash came between a commit and what was to follow it. False if
   * there is no such object, or something is staged for the id. Comes with `cutBack`.
   */
  takeBack?(key: string, id: string): Promise<boolean>;
}

export interface AppendOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The key that the bytes are meant for, the same at every append of an id. A store that cannot rename writes
   * there at once; committing to another key may cost it a copy.
   */
  readonly key?: string;
  /** Called from time to time during a long append with the size that is durable by now. */
  readonly onSync?: (size: number) => void;
}

export interface Staged {
  readonly id: string;
  /** When bytes were last added, in milliseconds. */
  readonly modified: number;
}

const storageKeyForm = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*$/;
const stagingIdForm = /^[a-z0-9][a-z0-9_-]{0,99}$/;

export const isStorageKey = (text: string): boolean => text.length <= 200 && storageKeyForm.test(text);
export const isStagingId = (text: string): boolean => stagingIdForm.test(text);

/** Returns the key, and refuses one that could lead out of the folder or prefix of all objects. */
export const checkKey = (text: string): string => checkForm(text, isStorageKey(text), 'storage key');
export const checkStagingId = (text: string): string => checkForm(text, isStagingId(text), 'staging id');

function checkForm(text: string, isFit: boolean, what: string): string {
  if (!isFit) throw new WorkcrateError('invalid_input', `${JSON.stringify(text)} is no ${what}.`);
  return text;
}

const knownDiskErrors: Record<string, [ErrorCode, string]> = {
  ENOSPC: [
    'storage_full',
    'The disk is full. Free some space or point the files folder at another disk, then try again.',
  ],
  EDQUOT: [
    'storage_full',
    "The disk quota of the server's user is used up. Raise it or free some space, then try again.",
  ],
  EROFS: [
    'storage_read_only',
    'The files folder is read-only. Mount it for writing, or set another files folder.',
  ],
  EACCES: [
    'storage_read_only',
    'The server may not write to its files folder. Give its user the permission.',
  ],
  EPERM: ['storage_read_only', 'The server may not write to its files folder. Give its user the permission.'],
  EMFILE: [
    'out_of_descriptors',
    'The server has no file descriptors left. Try again; raise `ulimit -n` if this goes on.',
  ],
  ENFILE: ['out_of_descriptors', 'The machine has no file descriptors left. Try again later.'],
};

/** Names the cause of a failed file operation if it is known, so that callers can act on it. */
function toStorageFailure(error: unknown): WorkcrateError {
  if (error instanceof WorkcrateError) return error;
  if (getErrno(error) === 'ENOSPC' && isOutOfInodes(error)) return outOfInodesError(error);
  const [code, message] = knownDiskErrors[getErrno(error) ?? ''] ?? [
    'storage_failed',
    'The storage failed. See the server log.',
  ];
  return new WorkcrateError(code, message, { cause: error });
}

/** Creating a file fails in the same way if there is space but no inode. */
function isOutOfInodes(error: unknown): boolean {
  const { path } = error as NodeJS.ErrnoException;
  if (path === undefined) return false;
  try {
    const { files, ffree, bavail } = statfsSync(dirname(path));
    return files > 0 && ffree === 0 && bavail > 0;
  } catch {
    return false;
  }
}

const outOfInodesError = (cause: unknown): WorkcrateError =>
  new WorkcrateError(
    'storage_full',
    'The disk has no inodes left: it can hold no more files, however small, although it has space. Delete some files, ' +
      'or point the files folder at another disk, then try again.',
    { cause },
  );

/** Runs a file operation and turns its failures into WorkcrateErrors. */
export async function withStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toStorageFailure(error);
  }
}

export function offsetConflictError(size: number): WorkcrateError {
  return new WorkcrateError('offset_conflict', `The upload has ${size} bytes. Continue from there.`, {
    details: { offset: size },
  });
}

export function alreadyExistsError(key: string): WorkcrateError {
  return new WorkcrateError('already_exists', `The object ${key} already exists.`);
}
