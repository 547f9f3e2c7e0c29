/**
 * Upload links: who may write to an upload and when, one writer at a time. `receive.ts` takes the bytes, `new-upload.ts`
 * makes uploads, and `batch.ts` those of several files.
 */
import { randomBytes } from 'node:crypto';
import type { Queries } from '../../ports/database/database.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import type { StoredFile } from '../files/files.ts';
import { isLocal, type Caller } from '../identity.ts';
import { checkNotRemoved } from '../users/users.ts';
import { readTrustedTime } from '../../ports/database/trusted-clock.ts';
import { checkNoBatch, giveBackToBatch, listBatchFiles, takeFromBatch, type BatchFile } from './batch.ts';
import { hashLinkToken, isToken, type LinksOptions } from './link.ts';
import {
  insertUpload,
  mintUpload,
  tooManyOpenUploadsError,
  type MintedUpload,
  type UploadRequest,
} from './new-upload.ts';
import {
  beginUpload,
  completeUpload,
  truncateToRecorded,
  resetUpload,
  salvageOnFailure,
  countDurableBytes,
  receiveBytes,
  type Delivery,
  type ReceivedBytes,
} from './receive.ts';
import { toIdleLeaseCondition, takeRowLease, type RowLease } from './single-use.ts';
import {
  createPurposes,
  uploadBusyError,
  uploadFromRow,
  uploadNotFoundError,
  uploadUsedError,
  type LeasedUpload,
  type Upload,
  type UploadProgress,
} from './upload.ts';

export type Uploads = ReturnType<typeof createUploads>;

/** Upload links: the way in for bytes that must not pass through the context of the model. */
export function createUploads(options: LinksOptions) {
  const { database, files, clock } = options;
  const purposes = createPurposes(options);

  async function find(token: string): Promise<Upload> {
    if (!isToken(token)) throw uploadNotFoundError();
    return findHashed(hashLinkToken(token));
  }

  async function findHashed(tokenHash: string): Promise<Upload> {
    const [row] = await database.query(
      'SELECT * FROM uploads WHERE token_hash = ? AND expires_at > ?',
      tokenHash,
      clock(),
    );
    if (!row) throw uploadNotFoundError();
    return uploadFromRow(row);
  }

  /** Runs `work` as the only writer of an upload that is still open. */
  const writeTo = async <T>(token: string, work: (upload: LeasedUpload) => Promise<T>): Promise<T> =>
    writeToUpload(await find(token), work);

  async function writeToUpload<T>(
    { id, tokenHash }: Upload,
    work: (upload: LeasedUpload) => Promise<T>,
  ): Promise<T> {
    // A process that was suspended for longer than its lease may still be writing.
    if (files.stagingInUse.has(id)) throw uploadBusyError();
    const progress: UploadProgress = { synced: null, isComplete: false };
    const synced = () => (progress.synced === null ? {} : { synced_bytes: progress.synced });
    const holder = randomBytes(8).toString('hex');
    await using lease = await takeRowLease(options, 'uploads', tokenHash, holder, synced);
    if (!lease) throw uploadBusyError();
    const upload = await findHashed(tokenHash);
    if (upload.fileId !== null) throw uploadUsedError();
    progress.synced = upload.syncedBytes;
    files.stagingInUse.add(id);
    const record = (): Promise<void> => recordProgress(lease, upload, progress);
    try {
      const result = await runOrElse(() => work({ ...upload, holder, progress }), record);
      await record();
      return result;
    } finally {
      files.stagingInUse.delete(id);
    }
  }

  /**
   * Records how many bytes have come before that is acknowledged. Each transfer prolongs the upload, however long it
   * takes in all.
   */
  async function recordProgress(lease: RowLease, upload: Upload, progress: UploadProgress): Promise<void> {
    if (progress.isComplete) return;
    const expires_at = Math.max(upload.expiresAt, clock() + options.uploadTtl * 1000);
    const synced_bytes = progress.synced;
    if (!(await lease.finish({ expires_at, synced_bytes }))) throw uploadBusyError();
  }

  /** Makes the file of an upload whose bytes are all here, as a crash can leave one. */
  async function finish(token: string): Promise<void> {
    try {
      await writeTo(token, async (upload) => {
        if ((await truncateToRecorded(options, upload)) !== upload.declaredSize) return;
        await salvageOnFailure(options, upload, () => completeUpload(options, upload, null));
      });
    } catch (error) {
      if (!isWorkcrateError(error, 'upload_used')) throw error;
    }
  }

  const end = (upload: LeasedUpload): Promise<void> => endUpload(options, upload);

  return {
    find,
    ...purposes,

    /** Creates an upload link for one file. Refuses at once what is known to be too large or over quota. */
    async request(caller: Caller, request: UploadRequest): Promise<MintedUpload> {
      await files.demandQuota(caller, request.size ?? 0);
      const minted = mintUpload(caller, request, clock(), options.uploadTtl);
      await registerUpload(options, caller, minted.upload);
      return minted;
    },

    /** Makes the upload of one file of a batch. */
    addToBatch: async (token: string, file: BatchFile): Promise<MintedUpload> =>
      takeFromBatch(options, await find(token), file),

    /** The files of a batch that have arrived, in that order, without those that are gone since. */
    listBatch: (batch: Upload): Promise<StoredFile[]> => listBatchFiles(options, batch),

    /**
     * The state of an upload, and how many bytes of it are here. If all are, the file is made first: a sender that
     * reads this takes the upload for done.
     */
    async readState(token: string): Promise<{ upload: Upload; offset: number }> {
      let upload = await find(token);
      let offset = await countDurableBytes(options, upload);
      if (upload.fileId === null && offset === upload.declaredSize) {
        await finish(token);
        upload = await find(token);
        offset = await countDurableBytes(options, upload);
      }
      return { upload, offset: upload.fileId === null ? offset : (upload.declaredSize ?? 0) };
    },

    /** The file that an upload became, or null. */
    file: async (upload: Upload): Promise<StoredFile | null> =>
      upload.fileId === null ? null : files.find({ user: upload.owner }, upload.fileId),

    /** Receives bytes. If the sender goes away, what it sent is kept, so that it can resume. */
    async write(token: string, delivery: Delivery): Promise<ReceivedBytes> {
      const upload = checkNoBatch(await find(token));
      // Before the lease: a client that retries again and again must not use up the space that is kept free for
      // deleting.
      await files.demandSpace(delivery.bodyLength ?? 0);
      return writeToUpload(upload, (leased) =>
        salvageOnFailure(options, leased, () => receiveBytes(options, leased, delivery)),
      );
    },

    /** Starts over with a file of this length, null where it is not known yet. An empty file is complete at once. */
    begin: (token: string, fileLength: number | null): Promise<ReceivedBytes> =>
      writeTo(token, (upload) => beginUpload(options, checkNoBatch(upload), fileLength)),

    /** Withdraws the upload: what was sent is dropped, and the link is dead. */
    withdraw: (token: string): Promise<void> => writeTo(token, end),

    /**
     * Withdraws an upload that the server itself requested: if a sender completes it in this moment, its file is not
     * taken for the requested one any more.
     */
    async giveUp(upload: Upload): Promise<void> {
      await purposes.claim(upload);
      await writeToUpload(upload, end).catch(ignoreIfOver);
    },

    /** Deletes expired uploads that have no writer, and drops their bytes. */
    sweep: (): Promise<number> => dropExpiredUploads(options),
  };
}

/** Drops what was sent and the upload itself. One of a batch can be another file then. */
async function endUpload(options: LinksOptions, upload: LeasedUpload): Promise<void> {
  await resetUpload(options, upload);
  await options.database.transaction(async (tx) => {
    await tx.query('DELETE FROM uploads WHERE token_hash = ?', upload.tokenHash);
    await giveBackToBatch(tx, upload);
  });
  upload.progress.isComplete = true;
}

async function dropExpiredUploads(options: LinksOptions): Promise<number> {
  const { database, storage, files, clock } = options;
  const idle = toIdleLeaseCondition(options);
  const now = await readTrustedTime(database, clock());
  const gone = await database.transaction(async (tx) => {
    const rows = await tx.query(
      `DELETE FROM uploads WHERE expires_at <= ? AND ${idle.sql} RETURNING *`,
      now,
      ...idle.values,
    );
    for (const row of rows) await files.charge(tx, String(row['owner']), -Number(row['reserved']), 0);
    return rows.map(uploadFromRow);
  });
  for (const upload of gone) await storage.staging.discard(upload.id);
  return gone.length;
}

/** Calls `otherwise` where the work fails, and then rejects with the failure of the work. */
async function runOrElse<T>(work: () => Promise<T>, otherwise: () => Promise<void>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await otherwise().catch(() => {});
    throw error;
  }
}

/** The upload has expired, or is in use, or was used in this moment: it ends by itself. */
function ignoreIfOver(error: unknown): void {
  const codes = ['upload_not_found', 'upload_used', 'upload_busy'] as const;
  if (!codes.some((code) => isWorkcrateError(error, code))) throw error;
}

type UploadsContext = Pick<LinksOptions, 'database' | 'storage' | 'files' | 'clock'>;

/** Inserts the upload. Where a user has too many open ones, the oldest that the server requested are dropped. */
async function registerUpload(options: UploadsContext, caller: Caller, upload: Upload): Promise<void> {
  const { database, storage } = options;
  if (isLocal(caller) && (await insertUpload(database, upload))) return;
  const gone = await database.transaction(async (tx) => {
    await checkNotRemoved(tx, caller, upload.createdAt);
    const gaveWay: string[] = [];
    while (!(await insertUpload(tx, upload))) {
      const id = await dropOldestRequested(options, tx, upload);
      if (id === null) throw tooManyOpenUploadsError();
      gaveWay.push(id);
    }
    return gaveWay;
  });
  for (const id of gone) await storage.staging.discard(id);
}

/**
 * Deletes the oldest upload of the same user that the server requested and that has no writer: it can be requested
 * again. Null where there is none.
 */
async function dropOldestRequested(
  options: UploadsContext,
  tx: Queries,
  { owner, createdAt }: Upload,
): Promise<string | null> {
  const idle = toIdleLeaseCondition(options);
  // The condition is there twice, since another transfer may begin between the two.
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
