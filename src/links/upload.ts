import type { Row } from '../database/database.ts';
import { WorkcrateError } from '../errors.ts';
import type { Digest } from '../files/files.ts';

/** What the server asked for by an upload, so that it finds again what came. */
export interface Purpose {
  /** The same for all uploads of a user that are to bring the same thing. No longer than a hash. */
  readonly key: string;
  /** What whoever asked has to know of it later, at any server. */
  readonly note: string;
}

/** A right to send one file, once. */
export interface Upload {
  readonly tokenHash: string;
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly mediaType: string;
  readonly declaredSize: number | null;
  readonly declaredSha256: string | null;
  readonly keepSeconds: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When it was whole; null before. */
  readonly completedAt: number | null;
  /** The file that it became, once it is whole. */
  readonly fileId: string | null;
  /** Null where a user wanted to send, and where what came was claimed. */
  readonly purpose: Purpose | null;
  /** How many bytes were durable when this was last recorded; null where that was begun by an older release. */
  readonly syncedBytes: number | null;
}

/** An upload in the hands of its only writer. */
export interface LeasedUpload extends Upload {
  readonly holder: string;
  /** Recorded whenever the lease is renewed, and when it is given back. */
  readonly progress: UploadProgress;
}

export interface UploadProgress {
  /** How many bytes are durable. */
  synced: number | null;
  /** Whether the file was made, or the right to send it given up, so that there is nothing more to record. */
  isComplete: boolean;
}

export function uploadFromRow(row: Row): Upload {
  return {
    tokenHash: row['token_hash'] as string,
    id: row['id'] as string,
    owner: row['owner'] as string,
    name: row['name'] as string,
    mediaType: row['media_type'] as string,
    declaredSize: row['declared_size'] as number | null,
    declaredSha256: row['declared_sha256'] as string | null,
    keepSeconds: row['keep_seconds'] as number,
    createdAt: row['created_at'] as number,
    expiresAt: row['expires_at'] as number,
    completedAt: row['completed_at'] as number | null,
    fileId: row['file_id'] as string | null,
    purpose: purposeFrom(row),
    syncedBytes: row['synced_bytes'] as number | null,
  };
}

function purposeFrom({ purpose, purpose_note: note }: Row): Purpose | null {
  return purpose === null ? null : { key: purpose as string, note: note as string };
}

/** Refuses a file that is not the one announced. */
export function accept(upload: Upload, found: Digest): void {
  if (upload.declaredSize !== null && upload.declaredSize !== found.size)
    throw sizeMismatch(upload.declaredSize, found.size);
  if (upload.declaredSha256 !== null && upload.declaredSha256 !== found.sha256)
    throw new WorkcrateError(
      'hash_mismatch',
      `The received bytes have the sha256 ${found.sha256}, not the announced ${upload.declaredSha256}. Nothing was kept; send the file again.`,
    );
}

export function sizeMismatch(announced: number, found: number): WorkcrateError {
  return new WorkcrateError(
    'size_mismatch',
    `${announced} bytes were announced, but ${found} were sent. Nothing was kept; send the whole file again.`,
  );
}

export function uploadNotFound(): WorkcrateError {
  return new WorkcrateError(
    'upload_not_found',
    'Upload not found or expired. To get a new link, repeat the call that made it, such as request_upload.',
  );
}

export function uploadUsed(): WorkcrateError {
  return new WorkcrateError(
    'upload_used',
    'This upload link was already used: its file is complete. GET the same URL to see the file_id, or repeat the call that made the link.',
  );
}

export function uploadBusy(): WorkcrateError {
  return new WorkcrateError(
    'upload_busy',
    'Another request is writing to this upload. Try again when it is done.',
  );
}
