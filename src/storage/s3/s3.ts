import { randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import { namesBelow, type Names, type RemoteLimits } from '../remote/remote.ts';
import type { ObjectPage, Storage } from '../storage.ts';
import { openBucket, type Bucket } from './bucket.ts';
import { headOf } from './heads.ts';
import { listNames } from './listing.ts';
import { presigned } from './presigning.ts';
import { openObject } from './reading.ts';
import { refused } from './refusals.ts';
import { removeName } from './removing.ts';
import { s3Staging } from './staging.ts';

export interface S3Options {
  readonly bucket: string;
  /** What every key begins with; empty or ending in `/`. */
  readonly prefix: string;
  /** Without a slash at its end; null for AWS itself. */
  readonly endpoint: string | null;
  readonly region: string;
  /** Whether the bucket stands in the path and not in the host name. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
  readonly partBytes: number;
}

/**
 * Keeps objects in a bucket of S3 or a store that speaks like it: `PREFIXobjects/KEY`, and `PREFIXstaging/ID` for what
 * is on its way. Any number of processes may use it at a time. It needs a store that heeds `If-None-Match` on PUT.
 */
export async function s3Storage(options: S3Options, limits?: RemoteLimits): Promise<Storage> {
  const bucket = openBucket(options, limits);
  const names = namesBelow(options.prefix);
  return {
    kind: 's3',
    isShared: true,
    isLasting: true,
    holdsRemoved: false,
    staging: s3Staging(bucket, names),
    stat: async (key) => {
      const head = await headOf(bucket, names.object(key));
      return head && { key, size: head.size, modified: head.modified };
    },
    open: async (key) => openObject(bucket, names.object(key)),
    list: (wanted = {}) => listPage(bucket, names, wanted),
    remove: async (key) => removeName(bucket, names.object(key)),
    presign: async (method, key, expiresAt, response) =>
      presigned(bucket, method, names.object(key), expiresAt, response),
    probe: () => probe(bucket),
    close: async () => bucket.close(),
  };
}

/** What others have put there is passed over; `next` may be such a name, so it is cut like a key but not judged. */
async function listPage(
  bucket: Bucket,
  names: Names,
  { prefix = '', after = '', limit = 1000 }: { prefix?: string; after?: string; limit?: number },
): Promise<ObjectPage> {
  const { objects: folder } = names;
  const start = after && folder + after;
  const { found, isLast } = await listNames(bucket, folder + prefix, start, Math.min(limit, 1000));
  const objects = found.flatMap(({ name, size, modified }) => {
    const key = names.keyOf(name);
    return key === null ? [] : [{ key, size, modified }];
  });
  return { objects, next: isLast ? null : found.at(-1)!.name.slice(folder.length) };
}

/** Writes an object, sees that it cannot be written over, and removes it. */
async function probe(bucket: Bucket): Promise<void> {
  const name = `${bucket.options.prefix}probes/${randomBytes(12).toString('hex')}`;
  const request = {
    method: 'PUT',
    name,
    headers: { 'If-None-Match': '*' },
    body: new Uint8Array(1),
  } as const;
  const first = await bucket.ask(request);
  // An answer that got lost on the way is not told from another's object, but nobody else knows the name.
  if (first.refusal !== null && first.refusal.status !== 412) throw refused(bucket, first.refusal);
  try {
    const second = await bucket.ask(request);
    if (second.refusal === null) throw new WorkcrateError('storage_failed', unconditional);
    if (second.refusal.status !== 412) throw refused(bucket, second.refusal);
  } finally {
    await removeName(bucket, name);
  }
}

const unconditional =
  'The store overwrites an object although it is asked not to (If-None-Match on PUT). Workcrate would lose files ' +
  'there: use a store that supports it, such as AWS S3, Ceph or MinIO.';
