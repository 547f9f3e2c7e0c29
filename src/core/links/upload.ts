import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries, Row } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Digest, Files } from '../files/files.ts';

/** What the server requested with an upload, so that it finds the received file again. */
export interface UploadPurpose {
  /** The same for all uploads of a user that are requested for the same thing. No longer than a hash. */
  readonly key: string;
  /** What the requester has to know later, on any server. */
  readonly note: string;
}

/** A right to send one file, once, or several files as a batch. */
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
  /** When it was complete; null before. */
  readonly completedAt: number | null;
  /** The file that it became, once it is complete. */
  readonly fileId: string | null;
  /** Null where a user wanted to send, and where the received file was claimed. */
  readonly purpose: UploadPurpose | null;
  /** How many bytes were durable when this was last recorded; null for uploads that an older release began. */
  readonly syncedBytes: number | null;
  /** How many more files may be sent to a batch, which takes no bytes itself; null for an upload of one file. */
  readonly filesLeft: number | null;
  /** The id of the batch that this upload is a part of. */
  readonly batch: string | null;
}

/** An upload, and the lease of its only writer. */
export interface LeasedUpload extends Upload {
  readonly holder: string;
  /** Recorded whenever the lease is renewed, and when it is released. */
  readonly progress: UploadProgress;
}

export interface UploadProgress {
  /** How many bytes are durable. */
  synced: number | null;
  /** Whether the file was made or the upload withdrawn, so that there is nothing more to record. */
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
    purpose: readPurpose(row),
    syncedBytes: row['synced_bytes'] as number | null,
    filesLeft: row['files_left'] as number | null,
    batch: row['batch'] as string | null,
  };
}

function readPurpose({ purpose, purpose_note: note }: Row): UploadPurpose | null {
  return purpose === null ? null : { key: purpose as string, note: note as string };
}

/** Refuses a file that is not the announced one. */
export function checkAnnouncedDigest(upload: Upload, found: Digest): void {
  if (upload.declaredSize !== null && upload.declaredSize !== found.size)
    throw sizeMismatchError(upload.declaredSize, found.size);
  if (upload.declaredSha256 !== null && upload.declaredSha256 !== found.sha256)
    throw new WorkcrateError(
      'hash_mismatch',
      `The received bytes have the sha256 ${found.sha256}, not the announced ${upload.declaredSha256}. Nothing was kept; send the file again.`,
    );
}

export function sizeMismatchError(announced: number, found: number): WorkcrateError {
  return new WorkcrateError(
    'size_mismatch',
    `${announced} bytes were announced, but ${found} were sent. Nothing was kept; send the whole file again.`,
  );
}

export function uploadNotFoundError(): WorkcrateError {
  return new WorkcrateError(
    'upload_not_found',
    'Upload not found or expired. To get a new link, repeat the call that made it, such as request_upload.',
  );
}

export function uploadUsedError(): WorkcrateError {
  return new WorkcrateError(
    'upload_used',
    'This upload link was already used: its file is complete. GET the same URL to see the file_id, or repeat the call that made the link.',
  );
}

export function uploadBusyError(): WorkcrateError {
  return new WorkcrateError(
    'upload_busy',
    'Another request is writing to this upload. Try again when it is done.',
  );
}

interface QuotaOptions {
  readonly database: Database;
  readonly files: Files;
}

/** Sets how much quota this upload has reserved, or rejects; what it had above that is given back. */
export async function adjustReservedQuota(
  { database, files }: QuotaOptions,
  upload: LeasedUpload,
  bytes: (held: number) => number,
): Promise<void> {
  await database.transaction(async (tx) => {
    const held = await readReservedQuota(tx, upload);
    const wanted = bytes(held);
    if (wanted === held) return;
    await tx.query('UPDATE uploads SET reserved = ? WHERE token_hash = ?', wanted, upload.tokenHash);
    await files.charge(tx, upload.owner, wanted - held, 0);
  });
}

/** How much quota an upload has reserved. Locks its row, and rejects unless its writer still has the lease. */
export async function readReservedQuota(tx: Queries, upload: LeasedUpload): Promise<number> {
  const [row] = await tx.query<{ reserved: number }>(
    'UPDATE uploads SET lease_holder = lease_holder WHERE token_hash = ? AND lease_holder = ? RETURNING reserved',
    upload.tokenHash,
    upload.holder,
  );
  if (!row) throw uploadBusyError();
  return row.reserved;
}

/**
 * Finds uploads by what a server requested them for, on whichever server that was, and decides who gets the received
 * file.
 */
export function createPurposes({ database, clock }: { database: Database; clock: Clock }) {
  const knownEmpty = rememberEmptyLookups(database);
  const purposeSql = 'SELECT * FROM uploads WHERE owner = ? AND purpose = ? AND expires_at > ?';

  return {
    /** Received files for any purpose that are not claimed. */
    async allArrived(owner: string): Promise<Upload[]> {
      const receivedSql =
        'SELECT * FROM uploads WHERE owner = ? AND purpose IS NOT NULL AND expires_at > ? AND file_id IS NOT NULL';
      return (await database.query(receivedSql, owner, clock())).map(uploadFromRow);
    },

    /** Received files that are not claimed, the newest first. The files may be gone. */
    async arrivedFor(owner: string, purpose: string): Promise<Upload[]> {
      const known = knownEmpty();
      const key = JSON.stringify([owner, purpose]);
      if (known?.has(key)) return [];
      const receivedSql = `${purposeSql} AND file_id IS NOT NULL ORDER BY completed_at DESC, id`;
      const rows = await database.query(receivedSql, owner, purpose, clock());
      if (rows.length === 0) known?.add(key);
      return rows.map(uploadFromRow);
    },

    /** Uploads that are not complete yet. */
    async openFor(owner: string, purpose: string): Promise<Upload[]> {
      return (await database.query(`${purposeSql} AND file_id IS NULL`, owner, purpose, clock())).map(
        uploadFromRow,
      );
    },

    /** Removes the purpose, so that nobody else finds the upload. Returns whether this call removed it. */
    async claim({ tokenHash }: Upload): Promise<boolean> {
      const claimed = await database.query(
        'UPDATE uploads SET purpose = NULL WHERE token_hash = ? AND purpose IS NOT NULL RETURNING id',
        tokenHash,
      );
      return claimed.length > 0;
    },

    /** Changes what the requester has to know. */
    async note({ tokenHash }: Upload, note: string): Promise<void> {
      await database.query('UPDATE uploads SET purpose_note = ? WHERE token_hash = ?', note, tokenHash);
    },
  };
}

const maxKnownPurposes = 1000;

/**
 * Remembers lookups that found nothing since the database was last written to: each call for a cached client file looks
 * here first. Null where others write all the time.
 */
function rememberEmptyLookups({ version }: Database): () => Set<string> | null {
  let [known, knownAt] = [new Set<string>(), version()];
  return () => {
    const now = version();
    // A new set, not a cleared one: a lookup that is in progress must not add to the set of a later version.
    if (now !== knownAt || known.size >= maxKnownPurposes) [known, knownAt] = [new Set(), now];
    return now === null ? null : known;
  };
}
