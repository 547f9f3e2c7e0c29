import { offsetConflict } from '../storage/storage.ts';
import type { LinksOptions } from './link.ts';
import type { LeasedUpload, Upload } from './upload.ts';

type OffsetOptions = Pick<LinksOptions, 'storage' | 'files'>;

/**
 * How many bytes of an upload are surely here: never more than were recorded as synced, where the size of what is staged
 * may be wrong after a power loss.
 */
export async function surelyHere({ storage, files }: OffsetOptions, upload: Upload): Promise<number> {
  const { staging } = storage;
  const { id, syncedBytes } = upload;
  if (staging.cutBack === undefined || syncedBytes === null) return staging.size(id);
  // Whoever is writing has recorded where it began.
  if (files.inHand.has(id)) return syncedBytes;
  return Math.min(syncedBytes, await sizeTakenBack({ storage, files }, id, syncedBytes));
}

/** Refuses bytes that do not begin where the upload is to be gone on with. */
export async function demandOffset(
  options: OffsetOptions,
  upload: LeasedUpload,
  offset: number,
): Promise<number> {
  const start = await cutToRecord(options, upload);
  if (offset !== start) throw offsetConflict(start);
  return start;
}

/** Where to go on with an upload. What is staged beyond that is cut off. */
export async function cutToRecord(options: OffsetOptions, upload: LeasedUpload): Promise<number> {
  const { staging } = options.storage;
  const { id, syncedBytes } = upload;
  const size = await sizeTakenBack(options, id, syncedBytes ?? 0);
  const start = staging.cutBack === undefined || syncedBytes === null ? size : Math.min(size, syncedBytes);
  if (start < size) await staging.cutBack!(id, start);
  return start;
}

/** Bytes that a crash left in place without a row, after they had been recorded, are staged again. */
async function sizeTakenBack(
  { storage, files }: OffsetOptions,
  id: string,
  recorded: number,
): Promise<number> {
  const size = await storage.staging.size(id);
  if (size >= recorded || !(await files.takeBack(id))) return size;
  return storage.staging.size(id);
}
