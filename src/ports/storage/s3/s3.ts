/**
 * The storage backend for S3 and stores with the same API. It takes uploads in by `staging.ts`, signs by `client.ts`, and
 * creates no bucket. Crates in a bucket of others are `source.ts`.
 */
import { randomBytes } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { WorkcrateError } from '../../../platform/errors.ts';
import {
  createObjectNames,
  openRemoteObject,
  type ObjectNames,
  type OpenedObject,
  type ObjectByteRange,
  type RemoteLimits,
  type StreamedAnswer,
} from '../remote/remote.ts';
import type { ObjectPage, OpenObject, PresignedUrl, Storage } from '../storage.ts';
import {
  getS3Credentials,
  checkNoRefusal,
  headS3Object,
  listS3Names,
  openBucket,
  s3RefusedError,
  removeS3Object,
  type Bucket,
} from './client.ts';
import { s3Staging } from './staging.ts';

export interface S3Options {
  readonly bucket: string;
  /** What every key begins with; empty or ending in `/`. */
  readonly prefix: string;
  /** Without a slash at its end; null for AWS itself. */
  readonly endpoint: string | null;
  readonly region: string;
  /** Whether the bucket is in the path and not in the host name. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
  readonly partBytes: number;
}

/**
 * Keeps objects in a bucket of S3 or a store with the same API: `PREFIXobjects/KEY`, and `PREFIXstaging/ID` for staged
 * uploads. Any number of processes may use it at a time. It needs a store that supports `If-None-Match` on PUT.
 */
export async function s3Storage(options: S3Options, limits?: RemoteLimits): Promise<Storage> {
  const bucket = openBucket(options, limits);
  const names = createObjectNames(options.prefix);
  return {
    kind: 's3',
    isShared: true,
    isLasting: true,
    holdsRemoved: false,
    staging: s3Staging(bucket, names),
    stat: async (key) => {
      const head = await headS3Object(bucket, names.object(key));
      return head && { key, size: head.size, modified: head.modified };
    },
    open: async (key) => openS3Object(bucket, names.object(key)),
    list: (wanted = {}) => listS3Page(bucket, names, wanted),
    remove: async (key) => removeS3Object(bucket, names.object(key)),
    presign: async (method, key, expiresAt, response) =>
      presignS3Url(bucket, method, names.object(key), expiresAt, response),
    probe: () => probeS3(bucket),
    close: async () => bucket.close(),
  };
}

/** Objects of others are skipped; `next` may be such a name, so it is cut like a key but not checked. */
async function listS3Page(
  bucket: Bucket,
  names: ObjectNames,
  { prefix = '', after = '', limit = 1000 }: { prefix?: string; after?: string; limit?: number },
): Promise<ObjectPage> {
  const { objects: folder } = names;
  const start = after && folder + after;
  const { found, isLast } = await listS3Names(bucket, folder + prefix, start, Math.min(limit, 1000));
  const objects = found.flatMap(({ name, size, modified }) => {
    const key = names.keyOf(name);
    return key === null ? [] : [{ key, size, modified }];
  });
  return { objects, next: isLast ? null : found.at(-1)!.name.slice(folder.length) };
}

/** Writes an object, checks that it cannot be overwritten, and removes it. */
async function probeS3(bucket: Bucket): Promise<void> {
  const name = `${bucket.options.prefix}probes/${randomBytes(12).toString('hex')}`;
  const request = {
    method: 'PUT',
    name,
    headers: { 'If-None-Match': '*' },
    body: new Uint8Array(1),
  } as const;
  const first = await bucket.ask(request);
  // If the first answer was lost, a retry finds our own object; nobody else knows the name.
  if (first.refusal !== null && first.refusal.status !== 412) throw s3RefusedError(bucket, first.refusal);
  try {
    const second = await bucket.ask(request);
    if (second.refusal === null) throw new WorkcrateError('storage_failed', unconditionalPutText);
    if (second.refusal.status !== 412) throw s3RefusedError(bucket, second.refusal);
  } finally {
    await removeS3Object(bucket, name);
  }
}

const unconditionalPutText =
  'The store overwrites an object although it is asked not to (If-None-Match on PUT). Workcrate would lose files ' +
  'there: use a store that supports it, such as AWS S3, Ceph or MinIO.';

async function openS3Object(bucket: Bucket, name: string): Promise<OpenObject | null> {
  const head = await headS3Object(bucket, name);
  if (head === null) return null;
  const getRange = (opened: OpenedObject, range: ObjectByteRange, signal?: AbortSignal) =>
    askRange(bucket, opened, range, signal);
  return openRemoteObject({ getRange, broken: bucket.broken }, { name, etag: head.etag, size: head.size });
}

export async function askRange(
  bucket: Bucket,
  { name, etag }: OpenedObject,
  { start, end }: ObjectByteRange,
  signal?: AbortSignal,
): Promise<StreamedAnswer | null> {
  const headers = { Range: `bytes=${start}-${end - 1}`, 'If-Match': etag };
  const answer = await bucket.stream({ method: 'GET', name, headers }, signal);
  return [404, 412].includes(answer.refusal?.status ?? 0) ? null : checkNoRefusal(bucket, answer);
}

/** The maximum of S3. */
const maxPresignSeconds = 7 * 24 * 60 * 60;

/** An upload by such a URL does not replace an object either. */
const putHeaders = { 'if-none-match': '*' };

export async function presignS3Url(
  bucket: Bucket,
  method: 'GET' | 'PUT',
  name: string,
  expiresAt: number,
  response?: { contentType: string; contentDisposition: string },
): Promise<PresignedUrl> {
  const now = Math.floor(Date.now() / 1000);
  const seconds = Math.min(maxPresignSeconds, Math.max(1, Math.floor(expiresAt / 1000) - now));
  const headers = method === 'PUT' ? putHeaders : {};
  const url = bucket.urlOf(name, { ...toResponseOverrides(response), 'X-Amz-Expires': `${seconds}` }).href;
  const datetime = new Date(now * 1000).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
  const signer = new AwsV4Signer({
    method,
    url,
    headers,
    datetime,
    signQuery: true,
    ...getS3Credentials(bucket.options),
  });
  const signed = new URL((await signer.sign()).url);
  // A space would be written as `+`, which not every store reads as one.
  signed.search = signed.search.replaceAll('+', '%20');
  return { url: signed.href, headers, expiresAt: (now + seconds) * 1000 };
}

const toResponseOverrides = (response?: {
  contentType: string;
  contentDisposition: string;
}): Record<string, string> =>
  response === undefined
    ? {}
    : {
        'response-content-type': response.contentType,
        'response-content-disposition': response.contentDisposition,
      };
