import { randomBytes } from 'node:crypto';
import type { Database, Queries } from '../database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { cleanFilename } from '../filenames.ts';
import { mediaTypeOf, type StoredFile } from '../files/files.ts';
import { isLocal, type Caller } from '../identity.ts';
import { begin, complete, reset, salvaging, take, type Delivery, type Received } from './intake.ts';
import { takeLease } from './lease.ts';
import { demandStanding, type LinksOptions } from './link.ts';
import { hashToken, isToken, newToken } from './tokens.ts';
import {
  uploadBusy,
  uploadFromRow,
  uploadNotFound,
  uploadUsed,
  type LeasedUpload,
  type Upload,
} from './upload.ts';

export interface UploadRequest {
  readonly filename: string;
  readonly size: number | null;
  readonly sha256: string | null;
  readonly mediaType: string | null;
  readonly keepSeconds: number;
}

/** Rights to send that one user may have open: they cost nothing, and so no quota bounds them. */
const mostOpen = 1000;

export type Uploads = ReturnType<typeof createUploads>;

/** The way in for bytes that must not pass through the model's context. */
export function createUploads(options: LinksOptions) {
  const { database, storage, files, clock, log } = options;

  async function find(token: string): Promise<Upload> {
    if (!isToken(token)) throw uploadNotFound();
    const [row] = await database.query(
      'SELECT * FROM uploads WHERE token_hash = ? AND expires_at > ?',
      hashToken(token),
      clock(),
    );
    if (!row) throw uploadNotFound();
    return uploadFromRow(row);
  }

  /** Runs `work` as the only writer of an upload that is still open. */
  async function writing<T>(token: string, work: (upload: LeasedUpload) => Promise<T>): Promise<T> {
    const { id, tokenHash } = await find(token);
    // A process that slept through its lease may still be at work.
    if (files.inHand.has(id)) throw uploadBusy();
    await using lease = await takeLease(options, 'uploads', tokenHash, randomBytes(8).toString('hex'));
    if (!lease) throw uploadBusy();
    const upload = await find(token);
    if (upload.fileId !== null) throw uploadUsed();
    files.inHand.add(id);
    try {
      return await work({ ...upload, holder: lease.holder });
    } finally {
      await prolong(tokenHash).catch((error: unknown) => log.warn('upload.not_prolonged', { error }));
      files.inHand.delete(id);
    }
  }

  /** Whoever is still sending may go on for as long again, however long it takes in all. */
  async function prolong(tokenHash: string): Promise<void> {
    const until = clock() + options.uploadTtl * 1000;
    await database.query(
      'UPDATE uploads SET expires_at = ? WHERE token_hash = ? AND expires_at < ? AND file_id IS NULL',
      until,
      tokenHash,
      until,
    );
  }

  /** Makes the file of an upload whose bytes are all here, as a crash may leave one. */
  async function finish(token: string): Promise<void> {
    try {
      await writing(token, async (upload) => {
        if ((await storage.staging.size(upload.id)) !== upload.declaredSize) return;
        await salvaging(options, upload, () => complete(options, upload, null));
      });
    } catch (error) {
      if (!isWorkcrateError(error, 'upload_used')) throw error;
    }
  }

  return {
    find,

    /** Promises to take one file. Refuses at once what is known to be too large or over quota. */
    async request(caller: Caller, request: UploadRequest): Promise<{ token: string; upload: Upload }> {
      await files.demandRoom(caller, request.size ?? 0);
      const { token, upload } = mint(caller, request, clock(), options.uploadTtl);
      await promise(database, caller, upload);
      return { token, upload };
    },

    /**
     * How an upload stands, and how many bytes of it are here. Where they all are, it is made a file first:
     * a sender that reads this takes the upload for done.
     */
    async standing(token: string): Promise<{ upload: Upload; offset: number }> {
      let upload = await find(token);
      let offset = await storage.staging.size(upload.id);
      if (upload.fileId === null && offset === upload.declaredSize) {
        await finish(token);
        upload = await find(token);
        offset = await storage.staging.size(upload.id);
      }
      return { upload, offset: upload.fileId === null ? offset : (upload.declaredSize ?? 0) };
    },

    /** The file that an upload became, or null. */
    file: async (upload: Upload): Promise<StoredFile | null> =>
      upload.fileId === null ? null : files.find({ user: upload.owner }, upload.fileId),

    /** Takes bytes in. A sender that goes away leaves what it sent, to be gone on with. */
    write: (token: string, delivery: Delivery): Promise<Received> =>
      writing(token, (upload) => salvaging(options, upload, () => take(options, upload, delivery))),

    /** Begins anew with a file of this length, null where it is not known yet. An empty file is whole at once. */
    begin: (token: string, fileLength: number | null): Promise<Received> =>
      writing(token, (upload) => begin(options, upload, fileLength)),

    /** Gives the right up: what was sent is dropped, the link is dead. */
    withdraw: (token: string): Promise<void> =>
      writing(token, async (upload) => {
        await reset(options, upload);
        await database.query('DELETE FROM uploads WHERE token_hash = ?', upload.tokenHash);
      }),

    /** Forgets expired uploads that nobody is writing, and drops what they hold. */
    async sweep(): Promise<number> {
      const now = clock();
      const gone = await database.transaction(async (tx) => {
        const rows = await tx.query(
          'DELETE FROM uploads WHERE expires_at <= ? AND (lease_until IS NULL OR lease_until <= ?) RETURNING *',
          now,
          now,
        );
        for (const row of rows) await files.charge(tx, String(row['owner']), -Number(row['reserved']), 0);
        return rows.map(uploadFromRow);
      });
      for (const upload of gone) await storage.staging.discard(upload.id);
      return gone.length;
    },
  };
}

function mint(caller: Caller, request: UploadRequest, now: number, ttlSeconds: number) {
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
    fileId: null,
  };
  return { token, upload };
}

async function promise(database: Database, caller: Caller, upload: Upload): Promise<void> {
  if (isLocal(caller)) return insert(database, upload);
  await database.transaction(async (tx) => {
    await demandStanding(tx, caller, upload.createdAt);
    await insert(tx, upload);
  });
}

async function insert(database: Queries, upload: Upload): Promise<void> {
  const made = await database.query(
    `INSERT INTO uploads (token_hash, id, owner, name, media_type, declared_size, declared_sha256, keep_seconds, created_at, expires_at)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
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
    upload.owner,
    upload.createdAt,
  );
  if (made.length === 0) throw tooManyOpen();
}

function tooManyOpen(): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `You have ${mostOpen} upload links whose files are not complete, as many as may be. Use those, or wait until they expire.`,
    { details: { mostUploads: mostOpen } },
  );
}
