/**
 * Several files by one address: a batch takes no bytes itself, but makes an ordinary upload for each file, as often as it
 * was made for. So each file has its own length, resumption, lease and quota, and one UPDATE counts them.
 */
import type { Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { StoredFile } from '../files/files.ts';
import type { LinksOptions } from './link.ts';
import { insertUpload, mintUpload, tooManyOpenUploadsError, type MintedUpload } from './new-upload.ts';
import { uploadNotFoundError, type Upload } from './upload.ts';

/** The most files of one batch. */
export const maxBatchFiles = 100;

/** What a sender says of a file before it is sent. */
export interface BatchFile {
  readonly filename: string;
  readonly size: number | null;
}

/** Makes the upload of one file, if the batch has room for it. The batch then lasts as long as that upload. */
export async function takeFromBatch(
  { database, files, clock, uploadTtl }: LinksOptions,
  batch: Upload,
  { filename, size }: BatchFile,
): Promise<MintedUpload> {
  const { owner, keepSeconds, id } = batch;
  await files.demandQuota({ user: owner }, size ?? 0);
  const request = { filename, size, keepSeconds, sha256: null, mediaType: null, batch: id };
  const minted = mintUpload({ user: owner }, request, clock(), uploadTtl);
  await database.transaction(async (tx) => {
    const [taken] = await tx.query(
      'UPDATE uploads SET files_left = files_left - 1 WHERE token_hash = ? AND files_left > 0 RETURNING id',
      batch.tokenHash,
    );
    if (taken === undefined) throw batchFullError(batch);
    // With the files that have arrived, which it lists.
    const { expiresAt } = minted.upload;
    await tx.query(
      'UPDATE uploads SET expires_at = ? WHERE (id = ? OR (batch = ? AND file_id IS NOT NULL)) AND expires_at < ?',
      expiresAt,
      id,
      id,
      expiresAt,
    );
    if (!(await insertUpload(tx, minted.upload))) throw tooManyOpenUploadsError();
  });
  return minted;
}

/** A file that was withdrawn may be another one. */
export async function giveBackToBatch(tx: Queries, { batch }: Upload): Promise<void> {
  if (batch !== null) await tx.query('UPDATE uploads SET files_left = files_left + 1 WHERE id = ?', batch);
}

export async function listBatchFiles(
  { database, files }: LinksOptions,
  { id, owner }: Upload,
): Promise<StoredFile[]> {
  const rows = await database.query<{ file_id: string }>(
    `SELECT file_id FROM uploads WHERE batch = ? AND file_id IS NOT NULL ORDER BY completed_at, id LIMIT ${maxBatchFiles}`,
    id,
  );
  const found = await Promise.all(rows.map(({ file_id }) => files.find({ user: owner }, file_id)));
  return found.filter((file) => file !== null);
}

/** Bytes are sent to the uploads that a batch makes. */
export function checkNoBatch<Some extends Upload>(upload: Some): Some {
  if (upload.filesLeft === null) return upload;
  throw new WorkcrateError(
    'invalid_input',
    'This address takes several files. Open it in a browser, or, with tus, POST once for each file with its name ' +
      'in Upload-Metadata and send it to the Location of the answer.',
  );
}

function batchFullError(batch: Upload): WorkcrateError {
  if (batch.filesLeft === null) return uploadNotFoundError();
  return new WorkcrateError(
    'upload_used',
    'As many files as were asked for have been sent here. Ask for another address to send more.',
  );
}
