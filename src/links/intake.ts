import type { Queries } from '../database/database.ts';
import { isWorkcrateError } from '../errors.ts';
import { digesting, keyFor, tooLarge, type Digest, type StoredFile } from '../files/files.ts';
import type { LinksOptions } from './link.ts';
import { receive } from './receive.ts';
import { demandOffset } from './upload-offset.ts';
import { accept, sizeMismatch, type LeasedUpload, type Upload } from './upload.ts';
import { heldBy, hold } from './upload-quota.ts';

/** What one HTTP request brings of a file. */
export interface Delivery {
  /** Where in the file its bytes begin; null for a whole file, which takes the place of what came before. */
  readonly offset: number | null;
  /** How long the whole file is, where the request tells. */
  readonly fileLength: number | null;
  /** How many bytes the request brings, where it tells. */
  readonly bodyLength: number | null;
  /** Called once the upload is found fit to take them. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

export interface Received {
  readonly size: number;
  /** The file, once it is whole. */
  readonly file: StoredFile | null;
}

type Options = Pick<LinksOptions, 'database' | 'storage' | 'files' | 'clock'>;

/** Takes the bytes of one request in, and makes the file once they are all here. */
export async function take(options: Options, upload: LeasedUpload, delivery: Delivery): Promise<Received> {
  const { files } = options;
  const start = delivery.offset === null ? 0 : await demandOffset(options, upload, delivery.offset);
  const end = delivery.bodyLength === null ? null : start + delivery.bodyLength;
  const length = checkLength(upload, delivery.fileLength, end ?? start, files.maxFileSize);
  const whole = delivery.offset === null;
  if (!whole) await declare(options, upload, length);
  const known = length ?? end;
  if (known !== null) await reserve(options, upload, known);
  const most = length ?? files.maxFileSize;
  const bytes = receive(delivery.bytes(), start, most, (upTo) => reserve(options, upload, upTo));
  const hashed = start === 0 ? digesting(bytes) : null;
  const size = await append(options, upload, start, hashed?.bytes ?? bytes);
  if (whole || size === length)
    return { size, file: await complete(options, upload, hashed?.digest() ?? null) };
  if (length === null) await hold(options, upload, () => size);
  return { size, file: null };
}

/** Adds bytes to what is staged, and keeps count of what is durable. */
async function append(
  options: Options,
  upload: LeasedUpload,
  start: number,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { staging } = options.storage;
  const { id, progress } = upload;
  await recordStart(options, upload, start);
  const onSync = (size: number): void => void (progress.synced = size);
  try {
    progress.synced = await staging.append(id, start, bytes, { key: keyFor(id), onSync });
    return progress.synced;
  } catch (error) {
    // What came before a sender broke off was synced; what a failing disk took is dropped.
    if (staging.cutBack && !isOfNoUse(options, error)) progress.synced = await staging.size(id);
    throw error;
  }
}

/** What is recorded must never be beyond where new bytes begin: a power loss could make them look as if they were synced. */
async function recordStart({ database }: Options, upload: LeasedUpload, start: number): Promise<void> {
  const { tokenHash, progress } = upload;
  if (progress.synced === start) return;
  await database.query('UPDATE uploads SET synced_bytes = ? WHERE token_hash = ?', start, tokenHash);
  progress.synced = start;
}

/** Begins anew with a file of this length, null where it is not known yet. An empty file is whole at once. */
export async function begin(
  options: Options,
  upload: LeasedUpload,
  fileLength: number | null,
): Promise<Received> {
  const length = checkLength(upload, fileLength, 0, options.files.maxFileSize);
  await reset(options, upload);
  if (length !== null) await reserve(options, upload, length);
  await declare(options, upload, length);
  if (length !== 0) return { size: 0, file: null };
  return { size: 0, file: await salvaging(options, upload, () => complete(options, upload, null)) };
}

/** Makes the file of an upload whose bytes are all here. */
export async function complete(
  { files, clock }: Options,
  upload: LeasedUpload,
  digest: Digest | null,
): Promise<StoredFile> {
  const { name, mediaType, keepSeconds } = upload;
  const settle = async (tx: Queries, stored: StoredFile): Promise<void> => {
    const held = await heldBy(tx, upload);
    // What the server asked for is found by its upload for as long as the file is kept, however late it came.
    await tx.query(
      `UPDATE uploads SET file_id = ?, declared_size = ?, completed_at = ?, reserved = 0,
         expires_at = CASE WHEN purpose IS NOT NULL AND expires_at < ? THEN ? ELSE expires_at END
       WHERE token_hash = ?`,
      stored.id,
      stored.size,
      clock(),
      stored.expiresAt,
      stored.expiresAt,
      upload.tokenHash,
    );
    await files.charge(tx, upload.owner, stored.size - held, 1);
  };
  const file = { name, mediaType, keepSeconds, origin: 'upload' };
  const check = (found: Digest): void => accept(upload, found);
  const kept = await files.keep({ user: upload.owner }, file, upload.id, digest, settle, check);
  upload.progress.isComplete = true;
  return kept;
}

/** Drops what was sent: the upload can be tried again from the start. Bytes first: the disk may be full. */
export async function reset(options: Options, upload: LeasedUpload): Promise<void> {
  await options.storage.staging.discard(upload.id);
  upload.progress.synced = 0;
  await hold(options, upload, () => 0);
}

/** Failures after which what was sent is of no use. After all others, the sender may go on with it. */
const refusals = ['too_large', 'size_mismatch', 'hash_mismatch', 'quota_exceeded', 'storage_full'] as const;

/** A disk that fails is no place for more; a store that others use too is out of reach for a while. */
const isOfNoUse = ({ storage }: Options, error: unknown): boolean =>
  refusals.some((code) => isWorkcrateError(error, code)) ||
  (!storage.isShared && isWorkcrateError(error, 'storage_failed'));

/** Leaves of a transfer that fails what can be gone on with, or nothing. */
export async function salvaging<T>(
  options: Options,
  upload: LeasedUpload,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isOfNoUse(options, error)) await reset(options, upload);
    else if (upload.declaredSize === null) await holdWhatCame(options, upload);
    throw error;
  }
}

async function holdWhatCame(options: Options, upload: LeasedUpload): Promise<void> {
  const size = await options.storage.staging.size(upload.id);
  await hold(options, upload, () => size);
}

const reserve = (options: Options, upload: LeasedUpload, upTo: number): Promise<void> =>
  hold(options, upload, (held) => Math.max(held, upTo));

/** Remembers how long the file will be, where that was left open. */
async function declare({ database }: Options, upload: Upload, length: number | null): Promise<void> {
  if (length === upload.declaredSize) return;
  await database.query('UPDATE uploads SET declared_size = ? WHERE token_hash = ?', length, upload.tokenHash);
}

/** The length of the whole file where it is known, after checking it against what was announced. */
function checkLength(
  { declaredSize }: Upload,
  fileLength: number | null,
  end: number,
  most: number,
): number | null {
  if (fileLength !== null && fileLength > (declaredSize ?? most)) throw tooLarge(declaredSize ?? most);
  if (fileLength !== null && declaredSize !== null && fileLength !== declaredSize)
    throw sizeMismatch(declaredSize, fileLength);
  const length = fileLength ?? declaredSize;
  if (end > (length ?? most)) throw tooLarge(length ?? most);
  return length;
}
