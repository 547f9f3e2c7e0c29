import { headS3Object, toNoteHeader, s3RefusedError, removeS3Object, type Bucket } from './client.ts';

/** No process keeps a lock for as long as this; an older one was left by a crash. */
const staleMs = 15 * 60_000;

/**
 * A mutex between processes, for one object: does the work, or returns null if another process has the lock. The lock is
 * a small object that is created only if there is none: of many who try, one succeeds.
 */
export async function withS3Lock<T>(
  bucket: Bucket,
  { name, mark, ...target }: { readonly name: string; readonly mark: string; readonly lockName?: string },
  work: () => Promise<T>,
): Promise<T | null> {
  const { prefix } = bucket.options;
  const lockName = target.lockName ?? `${prefix}turns/${name.slice(prefix.length)}`;
  if (!(await takeS3Lock(bucket, lockName, mark))) return null;
  try {
    return await work();
  } finally {
    // A lock that stays is stale after some minutes.
    await removeS3Object(bucket, lockName).catch(() => {});
  }
}

async function takeS3Lock(bucket: Bucket, lockName: string, mark: string): Promise<boolean> {
  if (await putS3Lock(bucket, lockName, mark, { 'If-None-Match': '*' })) return true;
  const held = await headS3Object(bucket, lockName);
  if (held === null) return false;
  // Ours: the answer was lost, or we took it before a crash.
  if (held.note === mark) return true;
  return held.asked - held.modified > staleMs && putS3Lock(bucket, lockName, mark, { 'If-Match': held.etag });
}

async function putS3Lock(
  bucket: Bucket,
  lockName: string,
  mark: string,
  condition: Record<string, string>,
): Promise<boolean> {
  const headers = { ...condition, ...toNoteHeader(mark) };
  const { refusal } = await bucket.ask({ method: 'PUT', name: lockName, headers, body: Buffer.from(mark) });
  if (refusal === null) return true;
  if ([404, 409, 412].includes(refusal.status) && refusal.code !== 'NoSuchBucket') return false;
  throw s3RefusedError(bucket, refusal);
}
