import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import {
  createRemote,
  type Remote,
  type RemoteLimits,
  type RemoteRequest,
  type StreamedAnswer,
  type WholeAnswer,
} from '../remote/remote.ts';
import type { Meanings } from './refusals.ts';
import type { S3Options } from './s3.ts';

export interface BucketRequest {
  readonly method: RemoteRequest['method'];
  /** The whole name of the object, prefix included; empty for the bucket itself. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | null;
  /** Of the body, in hex, where it is known already. */
  readonly sha256?: string;
  readonly longestMs?: number;
  readonly longestText?: number;
}

/** Signed requests to one bucket. */
export interface Bucket {
  readonly options: S3Options;
  /** For messages: the host of the store. */
  readonly store: string;
  /** What refusals mean where the bucket is used for something else than to keep files. */
  readonly meanings?: Meanings;
  ask(request: BucketRequest, signal?: AbortSignal): Promise<WholeAnswer>;
  stream(request: BucketRequest, signal?: AbortSignal): Promise<StreamedAnswer>;
  urlOf(name: string, query?: Readonly<Record<string, string>>): URL;
  readonly broken: Remote['broken'];
  close(): void;
}

export function openBucket(options: S3Options, limits?: RemoteLimits): Bucket {
  const base = baseOf(options);
  const urlOf = (name: string, query: Readonly<Record<string, string>> = {}): URL =>
    new URL(`${base}/${encoded(name)}${search(query)}`);
  const keys = new Map<string, ArrayBuffer>();
  const remote = createRemote({
    store: urlOf('').host,
    limits,
    sign: (request) => sign(request, options, keys),
  });
  const asked = (request: BucketRequest): RemoteRequest => {
    const { method, name, query, body = null, longestMs, longestText } = request;
    const sha256 = request.sha256 ?? sha256Of(body);
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

function baseOf({ endpoint, region, bucket, pathStyle }: S3Options): string {
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const service = new URL(endpoint ?? `https://s3.${region}.${suffix}`);
  if (pathStyle) return `${service.href.replace(/\/$/, '')}/${bucket}`;
  return `${service.protocol}//${bucket}.${service.host}${service.pathname.replace(/\/$/, '')}`;
}

const encoded = (name: string): string => name.split('/').map(strictly).join('/');

const search = (query: Readonly<Record<string, string>>): string => {
  const pairs = Object.entries(query).map(([name, value]) => `${strictly(name)}=${strictly(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};

/** As signatures want it, which leave even less as it is. */
const strictly = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const ofNothing = createHash('sha256').digest('hex');

/** The store checks it, so that bytes bent on the way are refused and not kept. */
const sha256Of = (body: Uint8Array | null): string =>
  body === null ? ofNothing : createHash('sha256').update(body).digest('hex');

async function sign(
  request: RemoteRequest,
  options: S3Options,
  cache: Map<string, ArrayBuffer>,
): Promise<RemoteRequest> {
  // A key for each day; yesterday's are of no more use.
  if (cache.size > 2) cache.clear();
  const { method, url, headers } = request;
  const signer = new AwsV4Signer({ method, url: url.href, headers, cache, ...credentials(options) });
  const signed = await signer.sign();
  return { ...request, headers: Object.fromEntries(signed.headers) };
}

export const credentials = ({ accessKeyId, secretAccessKey, sessionToken, region }: S3Options) => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken === null ? {} : { sessionToken }),
  region,
  service: 's3',
});
