import { randomBytes } from 'node:crypto';
import type { Queries } from '../database/database.ts';
import { WorkcrateError } from '../errors.ts';
import { cleanFilename } from '../filenames.ts';
import { mediaTypeOf } from '../files/files.ts';
import { isLocal, type Caller } from '../identity.ts';
import { idleLease } from './lease.ts';
import { demandStanding } from '../users/users.ts';
import type { LinksOptions } from './link.ts';
import { hashToken, newToken } from './tokens.ts';
import { uploadFromRow, type Purpose, type Upload } from './upload.ts';

export interface UploadRequest {
  readonly filename: string;
  readonly size: number | null;
  readonly sha256: string | null;
  readonly mediaType: string | null;
  readonly keepSeconds: number;
  /** Where the server asks for it by itself, rather than a user who wants to send. */
  readonly purpose?: Purpose;
}

/** Rights to send that one user may have open: they cost nothing, and so no quota bounds them. */
const mostOpen = 1000;

export function mintUpload(caller: Caller, request: UploadRequest, now: number, ttlSeconds: number) {
  const token = newToken();
  const name = cleanFilename(request.filename);
  const upload: Upload = {
    tokenHash: hashToken(token),
    id: `up-${randomBytes(12).toString('hex')}`,
    owner: caller.user,
    name,
    mediaType: request.mediaType ?? mediaTypeOf(name),
    declaredSize: request.size,
    declaredSha256: request.sha256,
    keepSeconds: request.keepSeconds,
    createdAt: now,
    expiresAt: now + ttlSeconds * 1000,
    completedAt: null,
    fileId: null,
    purpose: request.purpose ?? null,
    syncedBytes: 0,
  };
  return { token, upload };
}

type Options = Pick<LinksOptions, 'database' | 'storage' | 'files' | 'clock'>;

/** Writes down that a file may be sent. Where a user has too many open, those that the server asked for give way. */
export async function promiseUpload(options: Options, caller: Caller, upload: Upload): Promise<void> {
  const { database, storage } = options;
  if (isLocal(caller) && (await insert(database, upload))) return;
  const gone = await database.transaction(async (tx) => {
    await demandStanding(tx, caller, upload.createdAt);
    const gaveWay: string[] = [];
    while (!(await insert(tx, upload))) {
      const id = await giveWay(options, tx, upload);
      if (id === null) throw tooManyOpen();
      gaveWay.push(id);
    }
    return gaveWay;
  });
  for (const id of gone) await storage.staging.discard(id);
}

/** Whether there was room for it. */
async function insert(database: Queries, upload: Upload): Promise<boolean> {
  const made = await database.query(
    `INSERT INTO uploads (token_hash, id, owner, name, media_type, declared_size, declared_sha256, keep_seconds, created_at, expires_at, purpose, purpose_note, synced_bytes)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0
     WHERE (SELECT COUNT(*) FROM uploads WHERE owner = ? AND expires_at > ? AND file_id IS NULL) < ${mostOpen}
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
    upload.owner,
    upload.createdAt,
  );
  return made.length > 0;
}

/**
 * Ends the oldest right of the same user that the server asked for and nobody is sending by: it can be asked for anew.
 * Null where there is none.
 */
async function giveWay(options: Options, tx: Queries, { owner, createdAt }: Upload): Promise<string | null> {
  const idle = idleLease(options);
  // Twice, since another may begin to send between the two.
  const [row] = await tx.query(
    `DELETE FROM uploads WHERE token_hash = (
       SELECT token_hash FROM uploads
       WHERE owner = ? AND expires_at > ? AND file_id IS NULL AND purpose IS NOT NULL AND ${idle.sql}
       ORDER BY created_at, id LIMIT 1
     ) AND file_id IS NULL AND ${idle.sql} RETURNING *`,
    owner,
    createdAt,
    ...idle.values,
    ...idle.values,
  );
  if (row === undefined) return null;
  await options.files.charge(tx, owner, -Number(row['reserved']), 0);
  return uploadFromRow(row).id;
}

function tooManyOpen(): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `You have ${mostOpen} upload links that wait for their files, which is the limit. Use them, or wait until they expire.`,
    { details: { mostUploads: mostOpen } },
  );
}
