/** Makes uploads: their terms, their token and their row, as many as one user may have open. */
import { randomBytes } from 'node:crypto';
import type { Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { cleanFilename } from '../../platform/text/filenames.ts';
import { guessMediaType } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { createToken, hashLinkToken } from './link.ts';
import type { Upload, UploadPurpose } from './upload.ts';

export interface UploadRequest {
  readonly filename: string;
  readonly size: number | null;
  readonly sha256: string | null;
  readonly mediaType: string | null;
  readonly keepSeconds: number;
  /** Set where the server requests the file, rather than a user who wants to send one. */
  readonly purpose?: UploadPurpose;
  /** Set for a batch: so many files, which are named when they are sent. */
  readonly maxFiles?: number | undefined;
  /** The id of the batch that it is a part of. */
  readonly batch?: string;
}

/** A new upload: the only time that its token is known. */
export interface MintedUpload {
  readonly token: string;
  readonly upload: Upload;
}

export function mintUpload(
  caller: Caller,
  request: UploadRequest,
  now: number,
  ttlSeconds: number,
): MintedUpload {
  const token = createToken();
  const name = cleanFilename(request.filename);
  const upload: Upload = {
    tokenHash: hashLinkToken(token),
    id: `up-${randomBytes(12).toString('hex')}`,
    owner: caller.user,
    name,
    mediaType: request.mediaType ?? guessMediaType(name),
    declaredSize: request.size,
    declaredSha256: request.sha256,
    keepSeconds: request.keepSeconds,
    createdAt: now,
    expiresAt: now + ttlSeconds * 1000,
    completedAt: null,
    fileId: null,
    purpose: request.purpose ?? null,
    syncedBytes: 0,
    filesLeft: request.maxFiles ?? null,
    batch: request.batch ?? null,
  };
  return { token, upload };
}

/** Open uploads that one user may have: they cost no quota, so this bounds them. */
const maxOpenUploads = 1000;

/** Returns whether the user had room for one more. */
export async function insertUpload(database: Queries, upload: Upload): Promise<boolean> {
  const made = await database.query(
    `INSERT INTO uploads (token_hash, id, owner, name, media_type, declared_size, declared_sha256, keep_seconds, created_at, expires_at, purpose, purpose_note, files_left, batch, synced_bytes)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0
     WHERE (SELECT COUNT(*) FROM uploads WHERE owner = ? AND expires_at > ? AND file_id IS NULL) < ${maxOpenUploads}
     RETURNING id`,
    upload.tokenHash,
    upload.id,
    upload.owner,
    upload.name,
    upload.mediaType,
    upload.declaredSize,
    upload.declaredSha256,
    upload.keepSeconds,
    upload.createdAt,
    upload.expiresAt,
    upload.purpose?.key ?? null,
    upload.purpose?.note ?? null,
    upload.filesLeft,
    upload.batch,
    upload.owner,
    upload.createdAt,
  );
  return made.length > 0;
}

export function tooManyOpenUploadsError(): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `You have ${maxOpenUploads} upload links that wait for their files, which is the limit. Use them, or wait until they expire.`,
    { details: { mostUploads: maxOpenUploads } },
  );
}
