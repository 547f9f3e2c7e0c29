import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AwsV4Signer } from 'aws4fetch';
import { WorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import { findElements, findElementText } from '../../../platform/net/xml.ts';
import {
  checkAdvance,
  createRemote,
  checkDocument,
  maxStagedUploads,
  toRefusalCause,
  tooManyStagedError,
  type StoreRefusal,
  type Remote,
  type RemoteLimits,
  type RemoteRequest,
  type StreamedAnswer,
  type WholeAnswer,
} from '../remote/remote.ts';
import type { S3Options } from './s3.ts';

export interface BucketRequest {
  readonly method: RemoteRequest['method'];
  /** The whole name of the object, prefix included; empty for the bucket itself. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | null;
  /** Of the body, in hex, if it is known already. */
  readonly sha256?: string;
  readonly longestMs?: number;
  readonly longestText?: number;
}

/** Signed requests to one bucket. */
export interface Bucket {
  readonly options: S3Options;
  /** For messages: the host of the store. */
  readonly store: string;
  /** What refusals mean if the bucket is not the storage of this server. */
  readonly meanings?: S3ErrorMeanings;
  ask(request: BucketRequest, signal?: AbortSignal): Promise<WholeAnswer>;
  stream(request: BucketRequest, signal?: AbortSignal): Promise<StreamedAnswer>;
  urlOf(name: string, query?: Readonly<Record<string, string>>): URL;
  readonly broken: Remote['broken'];
  close(): void;
}

export function openBucket(options: S3Options, limits?: RemoteLimits): Bucket {
  const base = toBucketUrl(options);
  const urlOf = (name: string, query: Readonly<Record<string, string>> = {}): URL =>
    new URL(`${base}/${encodeObjectName(name)}${encodeQuery(query)}`);
  const keys = new Map<string, ArrayBuffer>();
  const remote = createRemote({
    store: urlOf('').host,
    limits,
    sign: (request) => signS3Request(request, options, keys),
  });
  const asked = (request: BucketRequest): RemoteRequest => {
    const { method, name, query, body = null, longestMs, longestText } = request;
    const sha256 = request.sha256 ?? hashRequestBody(body);
    const headers = { ...request.headers, 'X-Amz-Content-Sha256': sha256 };
    return { method, url: urlOf(name, query), headers, body, longestMs, longestText };
  };
  return {
    options,
    store: urlOf('').host,
    ask: (request, signal) => remote.ask(asked(request), signal),
    stream: (request, signal) => remote.stream(asked(request), signal),
    urlOf,
    broken: remote.broken,
    close: remote.close,
  };
}

function toBucketUrl({ endpoint, region, bucket, pathStyle }: S3Options): string {
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const service = new URL(endpoint ?? `https://s3.${region}.${suffix}`);
  if (pathStyle) return `${service.href.replace(/\/$/, '')}/${bucket}`;
  return `${service.protocol}//${bucket}.${service.host}${service.pathname.replace(/\/$/, '')}`;
}

const encodeObjectName = (name: string): string => name.split('/').map(encodeStrictly).join('/');

const encodeQuery = (query: Readonly<Record<string, string>>): string => {
  const pairs = Object.entries(query).map(
    ([name, value]) => `${encodeStrictly(name)}=${encodeStrictly(value)}`,
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};

/** As signatures require it: more characters are encoded. */
const encodeStrictly = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const emptyBodyHash = createHash('sha256').digest('hex');

/** The store checks it, and refuses bytes that changed on the way. */
const hashRequestBody = (body: Uint8Array | null): string =>
  body === null ? emptyBodyHash : createHash('sha256').update(body).digest('hex');

async function signS3Request(
  request: RemoteRequest,
  options: S3Options,
  cache: Map<string, ArrayBuffer>,
): Promise<RemoteRequest> {
  // One signing key a day; old ones are not needed.
  if (cache.size > 2) cache.clear();
  const { method, url, headers } = request;
  const signer = new AwsV4Signer({ method, url: url.href, headers, cache, ...getS3Credentials(options) });
  const signed = await signer.sign();
  return { ...request, headers: Object.fromEntries(signed.headers) };
}

export const getS3Credentials = ({ accessKeyId, secretAccessKey, sessionToken, region }: S3Options) => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken === null ? {} : { sessionToken }),
  region,
  service: 's3',
});

const wrongKey =
  'The store does not accept the access key. Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that the key is active.';
const wrongRegion =
  'The bucket is in another region. Set --s3-region to its region, and --s3-endpoint if there is one.';
const storeFullText =
  'The store is full, or the quota of the bucket or its owner is used up. Free some space or raise the quota.';

/** Error codes of a store, with our code and a message that says what to do. */
export type S3ErrorMeanings = Readonly<Record<string, readonly [ErrorCode, string]>>;

const knownS3Codes: S3ErrorMeanings = {
  InvalidAccessKeyId: ['storage_failed', wrongKey],
  SignatureDoesNotMatch: ['storage_failed', wrongKey],
  InvalidToken: ['storage_failed', wrongKey],
  ExpiredToken: [
    'storage_failed',
    'The temporary credentials have expired. Renew AWS_SESSION_TOKEN and the key.',
  ],
  AccessDenied: [
    'storage_read_only',
    'The access key may not do this. Give it permission to get, put, delete and list objects of the bucket, and to ' +
      'abort multipart uploads.',
  ],
  AllAccessDisabled: ['storage_read_only', 'All access to the bucket is disabled. Ask its owner.'],
  NoSuchBucket: [
    'storage_failed',
    'There is no such bucket. Create it, or set --s3-bucket to one that exists.',
  ],
  NoSuchUpload: [
    'storage_failed',
    'The store does not know the parts of this upload any more. Send it again from its start.',
  ],
  // Ceph demands that every part it has is named, also those beyond the end that a crash may have left.
  InvalidPart: [
    'storage_failed',
    'The store has wrong parts of this upload, as a crash may leave them. Send it again from its start.',
  ],
  RequestTimeTooSkewed: [
    'storage_failed',
    'The clock of this machine is off by minutes or more, so the store refuses its requests. Set it right.',
  ],
  RequestExpired: ['storage_failed', 'The clock of this machine is off. Set it right.'],
  PermanentRedirect: ['storage_failed', wrongRegion],
  AuthorizationHeaderMalformed: ['storage_failed', wrongRegion],
  IllegalLocationConstraintException: ['storage_failed', wrongRegion],
  QuotaExceeded: ['storage_full', storeFullText],
  InsufficientCapacity: ['storage_full', storeFullText],
  XMinioStorageFull: ['storage_full', storeFullText],
  EntityTooLarge: ['storage_full', 'The store does not take objects or parts of this size.'],
  SlowDown: ['storage_failed', 'The store is overloaded and asks to slow down. Try again later.'],
  XAmzContentSHA256Mismatch: [
    'storage_failed',
    'Bytes changed on the way to the store, which refused them. Try again.',
  ],
};

const meaningsByStatus: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  301: ['storage_failed', wrongRegion],
  307: ['storage_failed', wrongRegion],
  400: [
    'storage_failed',
    'The store does not accept the request: check --s3-region, --s3-endpoint and the path style.',
  ],
  403: knownS3Codes['AccessDenied']!,
  503: ['storage_failed', 'The store is overloaded or down. Try again later.'],
  507: ['storage_full', storeFullText],
};

/** What a refusal means and what to do about it; the store's code is in the cause. */
export function s3RefusedError({ store, meanings }: Bucket, refusal: StoreRefusal): WorkcrateError {
  const [code, message] = meanings?.[refusal.code] ??
    knownS3Codes[refusal.code] ??
    meaningsByStatus[refusal.status] ?? [
      'storage_failed',
      'The store failed. The log of the server says why.',
    ];
  return new WorkcrateError(code, message, { cause: toRefusalCause(store, refusal) });
}

/** Returns the answer, or throws if it is a refusal. */
export function checkNoRefusal<T extends { readonly refusal: StoreRefusal | null }>(
  bucket: Bucket,
  answer: T,
): T {
  if (answer.refusal !== null) throw s3RefusedError(bucket, answer.refusal);
  return answer;
}

/** What a store says of an object without its bytes. */
export interface S3Head {
  readonly size: number;
  readonly modified: number;
  readonly etag: string;
  /** When it was asked for, by the store's clock. */
  readonly asked: number;
  /** What we wrote beside it, see `toNoteHeader`. */
  readonly note: string | null;
}

const noteHeader = 'x-amz-meta-workcrate';

/** A note that is kept with an object; plain ASCII, below 2 kB. */
export const toNoteHeader = (note: string): Record<string, string> => ({ [noteHeader]: note });

/** How often HEAD may be refused although GET is not, as for a new empty object. */
const headRounds = 3;

/** Null if there is none. The answer to HEAD has no body, so after a refusal GET is sent to learn the reason. */
export async function headS3Object(
  bucket: Bucket,
  name: string,
  signal?: AbortSignal,
): Promise<S3Head | null> {
  for (let left = headRounds; ; left--) {
    const { refusal, headers } = await bucket.ask({ method: 'HEAD', name }, signal);
    if (refusal === null) return parseS3Head(headers);
    const again = await bucket.ask({ method: 'GET', name, headers: { Range: 'bytes=0-0' } }, signal);
    if (again.refusal === null) return { ...parseS3Head(again.headers), size: parseTotalSize(again.headers) };
    if (isAbsentS3Object(again.refusal)) return null;
    if (again.refusal.code !== 'InvalidRange' || left === 1) throw s3RefusedError(bucket, again.refusal);
  }
}

const parseTotalSize = (headers: IncomingHttpHeaders): number =>
  Number(headers['content-range']?.split('/')[1]);

/** A missing bucket is a 404 as well, but an error. */
export const isAbsentS3Object = ({ status, code }: { status: number; code: string }): boolean =>
  status === 404 && (code === 'NoSuchKey' || code === '');

export function parseS3Head(headers: IncomingHttpHeaders): S3Head {
  const note = headers[noteHeader];
  return {
    size: Number(headers['content-length'] ?? 0),
    modified: Date.parse(headers['last-modified'] ?? '') || 0,
    etag: headers.etag ?? '',
    asked: Date.parse(headers.date ?? '') || Date.now(),
    note: typeof note === 'string' ? note : null,
  };
}

/** No error if it does not exist. */
export async function removeS3Object(bucket: Bucket, name: string): Promise<void> {
  const { refusal } = await bucket.ask({ method: 'DELETE', name });
  if (refusal !== null && !isAbsentS3Object(refusal)) throw s3RefusedError(bucket, refusal);
}

interface ListedS3Object {
  readonly name: string;
  readonly size: number;
  readonly modified: number;
}

/** A page of the bucket, in the order of UTF-8 bytes, which for our names is that of their text. */
export async function listS3Names(
  bucket: Bucket,
  prefix: string,
  after: string,
  limit: number,
): Promise<{ found: ListedS3Object[]; isLast: boolean }> {
  const query = {
    'list-type': '2',
    prefix,
    'max-keys': `${limit}`,
    ...(after === '' ? {} : { 'start-after': after }),
  };
  const { text } = checkNoRefusal(bucket, await bucket.ask({ method: 'GET', name: '', query }));
  const found = findElements(checkDocument(text, 'ListBucketResult'), 'Contents').map(toListedS3Object);
  const isLast = findElementText(text, 'IsTruncated') !== 'true';
  // An empty page that is not the last is no progress either.
  if (found.length > 0 || !isLast) checkAdvance(after, found.at(-1)?.name ?? '');
  return { found, isLast };
}

const toListedS3Object = (xml: string): ListedS3Object => ({
  name: findElementText(xml, 'Key') ?? '',
  size: Number(findElementText(xml, 'Size')),
  modified: Date.parse(findElementText(xml, 'LastModified') ?? '') || 0,
});

/** All of it, page by page, up to as many as uploads may be. */
export async function listAllS3Objects(bucket: Bucket, prefix: string): Promise<ListedS3Object[]> {
  const all: ListedS3Object[] = [];
  for (;;) {
    const { found, isLast } = await listS3Names(bucket, prefix, all.at(-1)?.name ?? '', 1000);
    if (all.length + found.length > maxStagedUploads) throw tooManyStagedError();
    for (const one of found) all.push(one);
    if (isLast) return all;
  }
}
