import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Queries } from '../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import {
  digestWhileReading,
  toStorageKey,
  fileTooLargeError,
  type Digest,
  type StoredFile,
} from '../files/files.ts';
import { offsetConflictError } from '../../ports/storage/storage.ts';
import type { LinksOptions } from './link.ts';
import {
  checkAnnouncedDigest,
  readReservedQuota,
  adjustReservedQuota,
  sizeMismatchError,
  type LeasedUpload,
  type Upload,
} from './upload.ts';

/** What one HTTP request sends of a file. */
export interface Delivery {
  /** Where its bytes begin in the file; null for a whole file, which replaces what came before. */
  readonly offset: number | null;
  /** The length of the whole file, if the request says so. */
  readonly fileLength: number | null;
  /** How many bytes the request sends, if it says so. */
  readonly bodyLength: number | null;
  /** Called once the upload is ready to take them. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

export interface ReceivedBytes {
  readonly size: number;
  /** The file, once it is whole. */
  readonly file: StoredFile | null;
}

type ReceiveOptions = Pick<LinksOptions, 'database' | 'storage' | 'files' | 'clock'>;

/** Receives the bytes of one request, and makes the file once all bytes are here. */
export async function receiveBytes(
  options: ReceiveOptions,
  upload: LeasedUpload,
  delivery: Delivery,
): Promise<ReceivedBytes> {
  const { files } = options;
  const start = delivery.offset === null ? 0 : await checkOffset(options, upload, delivery.offset);
  const end = delivery.bodyLength === null ? null : start + delivery.bodyLength;
  const length = checkLength(upload, delivery.fileLength, end ?? start, files.maxFileSize);
  const whole = delivery.offset === null;
  if (!whole) await recordLength(options, upload, length);
  const known = length ?? end;
  if (known !== null) await reserveQuota(options, upload, known);
  const most = length ?? files.maxFileSize;
  const bytes = reserveWhileReading(delivery.bytes(), start, most, (upTo) =>
    reserveQuota(options, upload, upTo),
  );
  const hashed = start === 0 ? digestWhileReading(bytes) : null;
  const size = await appendToStaged(options, upload, start, hashed?.bytes ?? bytes);
  if (whole || size === length)
    return { size, file: await completeUpload(options, upload, hashed?.digest() ?? null) };
  if (length === null) await adjustReservedQuota(options, upload, () => size);
  return { size, file: null };
}

/** Appends bytes to what is staged, and tracks how many are durable. */
async function appendToStaged(
  options: ReceiveOptions,
  upload: LeasedUpload,
  start: number,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { staging } = options.storage;
  const { id, progress } = upload;
  await recordStart(options, upload, start);
  const onSync = (size: number): void => void (progress.synced = size);
  try {
    progress.synced = await staging.append(id, start, bytes, { key: toStorageKey(id), onSync });
    return progress.synced;
  } catch (error) {
    // What came before a sender broke off was synced; what was written to a failing disk is dropped.
    if (staging.cutBack && !isUnusableAfter(options, error)) progress.synced = await staging.size(id);
    throw error;
  }
}

/**
 * The recorded length must never be beyond where new bytes begin: after a power loss they could look as if they had
 * been synced.
 */
async function recordStart({ database }: ReceiveOptions, upload: LeasedUpload, start: number): Promise<void> {
  const { tokenHash, progress } = upload;
  if (progress.synced === start) return;
  await database.query('UPDATE uploads SET synced_bytes = ? WHERE token_hash = ?', start, tokenHash);
  progress.synced = start;
}

/** Starts over with a file of this length, null where it is not known yet. An empty file is complete at once. */
export async function beginUpload(
  options: ReceiveOptions,
  upload: LeasedUpload,
  fileLength: number | null,
): Promise<ReceivedBytes> {
  const length = checkLength(upload, fileLength, 0, options.files.maxFileSize);
  await resetUpload(options, upload);
  if (length !== null) await reserveQuota(options, upload, length);
  await recordLength(options, upload, length);
  if (length !== 0) return { size: 0, file: null };
  return {
    size: 0,
    file: await salvageOnFailure(options, upload, () => completeUpload(options, upload, null)),
  };
}

/** Makes the file of an upload whose bytes are all here. */
export async function completeUpload(
  { files, clock }: ReceiveOptions,
  upload: LeasedUpload,
  digest: Digest | null,
): Promise<StoredFile> {
  const { name, mediaType, keepSeconds } = upload;
  const settle = async (tx: Queries, stored: StoredFile): Promise<void> => {
    const held = await readReservedQuota(tx, upload);
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
  const check = (found: Digest): void => checkAnnouncedDigest(upload, found);
  const kept = await files.keep({ user: upload.owner }, file, upload.id, digest, settle, check);
  upload.progress.isComplete = true;
  return kept;
}

/** Drops what was sent, so that the upload can be tried again from the start. Bytes first: the disk may be full. */
export async function resetUpload(options: ReceiveOptions, upload: LeasedUpload): Promise<void> {
  await options.storage.staging.discard(upload.id);
  upload.progress.synced = 0;
  await adjustReservedQuota(options, upload, () => 0);
}

/** Failures after which the sent bytes are useless. After all others, the sender can resume. */
const discardingCodes = [
  'too_large',
  'size_mismatch',
  'hash_mismatch',
  'quota_exceeded',
  'storage_full',
] as const;

/** Bytes on a failing disk are not used any more; a shared store may only be unreachable for a while. */
const isUnusableAfter = ({ storage }: ReceiveOptions, error: unknown): boolean =>
  discardingCodes.some((code) => isWorkcrateError(error, code)) ||
  (!storage.isShared && isWorkcrateError(error, 'storage_failed'));

/** After a failure, keeps what the sender can resume from, or drops everything. */
export async function salvageOnFailure<T>(
  options: ReceiveOptions,
  upload: LeasedUpload,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isUnusableAfter(options, error)) await resetUpload(options, upload);
    else if (upload.declaredSize === null) await reserveForStaged(options, upload);
    throw error;
  }
}

async function reserveForStaged(options: ReceiveOptions, upload: LeasedUpload): Promise<void> {
  const size = await options.storage.staging.size(upload.id);
  await adjustReservedQuota(options, upload, () => size);
}

const reserveQuota = (options: ReceiveOptions, upload: LeasedUpload, upTo: number): Promise<void> =>
  adjustReservedQuota(options, upload, (held) => Math.max(held, upTo));

/** Records the length of the file where it was not announced before. */
async function recordLength(
  { database }: ReceiveOptions,
  upload: Upload,
  length: number | null,
): Promise<void> {
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
  if (fileLength !== null && fileLength > (declaredSize ?? most))
    throw fileTooLargeError(declaredSize ?? most);
  if (fileLength !== null && declaredSize !== null && fileLength !== declaredSize)
    throw sizeMismatchError(declaredSize, fileLength);
  const length = fileLength ?? declaredSize;
  if (end > (length ?? most)) throw fileTooLargeError(length ?? most);
  return length;
}

/**
 * For bytes that were not announced, quota is reserved ahead: as much again as has come, within these bounds, so that
 * the quota is checked seldom.
 */
const minAheadBytes = 64 * 1024;
const maxAheadBytes = 64 * 1024 * 1024;

/**
 * Limits bytes on their way in: to `most` in total, and to what the quota allows. `reserve` reserves quota for that
 * many bytes of the file, or rejects.
 */
async function* reserveWhileReading(
  bytes: AsyncIterable<Uint8Array>,
  from: number,
  most: number,
  reserve: (upTo: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let size = from;
  let room = from;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > most) throw fileTooLargeError(most);
    if (size > room) room = await reserveAhead(size, most, reserve);
    yield chunk;
  }
}

/** Where the quota is too small to reserve ahead, it may still be enough for what has come. */
async function reserveAhead(
  size: number,
  most: number,
  reserve: (upTo: number) => Promise<void>,
): Promise<number> {
  const ahead = Math.min(most, size + Math.min(maxAheadBytes, Math.max(minAheadBytes, size)));
  try {
    await reserve(ahead);
    return ahead;
  } catch (error) {
    if (!isWorkcrateError(error, 'quota_exceeded')) throw error;
  }
  await reserve(size);
  return size;
}

/**
 * Fewer bytes than this in `idleMs` do not count as progress; otherwise a sender could continue forever, a byte at a
 * time.
 */
const minProgressBytes = 1024;

/**
 * Reads the bytes of a request, with backpressure. A sender that goes away is `upload_incomplete`, one that sends next
 * to nothing for `idleMs` is `stalled`; time in which this server does not read does not count. The connection stays
 * open for the answer. A client that waits for `100 Continue` gets it here, once the upload is ready.
 */
export async function* readBodyWithTimeout(
  req: IncomingMessage,
  res: ServerResponse,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  if (/^100-continue$/i.test(req.headers.expect ?? '')) res.writeContinue();
  const chunks = req.iterator({ destroyOnReturn: false }) as AsyncGenerator<Buffer>;
  let [patience, progress] = [idleMs, 0];
  try {
    for (;;) {
      const asked = performance.now();
      const { done, value } = await rejectAfter(patience, chunks.next());
      if (done) break;
      [patience, progress] = [patience - (performance.now() - asked), progress + value.length];
      if (progress >= minProgressBytes) [patience, progress] = [idleMs, 0];
      yield value;
    }
  } finally {
    // Not awaited: while a read is pending, it ends only with the connection.
    void chunks.return(undefined);
  }
  if (!req.complete) throw uploadIncompleteError();
}

async function rejectAfter<T>(milliseconds: number, reading: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(senderStalledError()), milliseconds);
  try {
    return await Promise.race([
      reading.catch((cause: unknown) => {
        throw uploadIncompleteError(cause);
      }),
      promise,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

function uploadIncompleteError(cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'upload_incomplete',
    'The transfer was interrupted. Continue from the Upload-Offset that HEAD returns.',
    { cause },
  );
}

function senderStalledError(): WorkcrateError {
  return new WorkcrateError(
    'stalled',
    'No bytes came for too long. Continue from the Upload-Offset that HEAD returns.',
  );
}

type OffsetOptions = Pick<LinksOptions, 'storage' | 'files'>;

/**
 * How many bytes of an upload are durable: never more than were recorded as synced, since the size of what is staged
 * may be wrong after a power loss.
 */
export async function countDurableBytes({ storage, files }: OffsetOptions, upload: Upload): Promise<number> {
  const { staging } = storage;
  const { id, syncedBytes } = upload;
  if (staging.cutBack === undefined || syncedBytes === null) return staging.size(id);
  // The writer recorded where it began.
  if (files.stagingInUse.has(id)) return syncedBytes;
  return Math.min(syncedBytes, await readStagedSize({ storage, files }, id, syncedBytes));
}

/** Refuses bytes that do not begin where the upload has to be resumed. */
async function checkOffset(options: OffsetOptions, upload: LeasedUpload, offset: number): Promise<number> {
  const start = await truncateToRecorded(options, upload);
  if (offset !== start) throw offsetConflictError(start);
  return start;
}

/** Where to resume an upload. What is staged beyond that is cut off. */
export async function truncateToRecorded(options: OffsetOptions, upload: LeasedUpload): Promise<number> {
  const { staging } = options.storage;
  const { id, syncedBytes } = upload;
  const size = await readStagedSize(options, id, syncedBytes ?? 0);
  const start = staging.cutBack === undefined || syncedBytes === null ? size : Math.min(size, syncedBytes);
  if (start < size) await staging.cutBack!(id, start);
  return start;
}

/**
 * The size of what is staged. Bytes that were recorded, but that a crash left in the store without a row, are staged
 * again.
 */
async function readStagedSize(
  { storage, files }: OffsetOptions,
  id: string,
  recorded: number,
): Promise<number> {
  const size = await storage.staging.size(id);
  if (size >= recorded || !(await files.takeBack(id))) return size;
  return storage.staging.size(id);
}
