/**
 * Offloads downloads: a redirect to a presigned URL of the object store, or `X-Accel-Redirect` for nginx, instead of bytes
 * from this process. It decides and builds the headers; `download-route.ts` sends and counts them.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { PresignedUrl, Storage } from '../../ports/storage/storage.ts';
import { downloadHeaders, type DownloadPlan } from './download-response.ts';
import type { Download } from './download.ts';
import type { Link } from './link.ts';

/** An answer without a body, which makes another server send the bytes. */
export interface OffloadedAnswer {
  readonly status: 200 | 302;
  readonly headers: Record<string, string | number>;
}

export interface OffloadRequest {
  readonly headers: IncomingHttpHeaders;
  readonly link: Link;
  readonly download: Download;
  readonly plan: DownloadPlan;
}

/** Resolves to null where this process has to send the bytes. */
export type Offload = (request: OffloadRequest) => Promise<OffloadedAnswer | null>;

export interface OffloadOptions {
  readonly downloads: 'stream' | 'redirect' | 'accel';
  /** The smallest file that is offloaded. */
  readonly from: number;
  readonly accelPrefix: string;
  /** Whether a webhook reports complete downloads: only the server that sends the last byte knows of them. */
  readonly reportsEnds: boolean;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
}

/** How downloads are offloaded; null where all are streamed by this process. */
export async function createOffload(options: OffloadOptions): Promise<Offload | null> {
  const { downloads, from } = options;
  if (downloads === 'stream') return null;
  const tryOffload =
    downloads === 'accel'
      ? createAccel(options.storage, options.accelPrefix)
      : await createRedirect(options.storage, options.clock);
  if (options.reportsEnds) {
    options.log.warn('downloads.streamed', {
      reason: `--downloads ${downloads} cannot report ends to a webhook`,
    });
    return null;
  }
  return async (request) =>
    request.download.size < from || !canOffload(request) ? null : tryOffload(request);
}

/** The other server has its own ETag and date, and would evaluate conditions by those. */
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];

function canOffload({ headers, link, plan }: OffloadRequest): boolean {
  if (link.singleUse || (plan.status !== 200 && plan.status !== 206)) return false;
  return conditions.every((name) => headers[name] === undefined);
}

/** A presigned URL cannot be revoked, so it is valid for little longer than it takes to follow it. */
const presignedMs = 60_000;

/** Redirects clients to a URL of the object store. Throws at start where the storage signs none. */
async function createRedirect(storage: Storage, clock: Clock) {
  if ((await storage.presign('GET', 'files/none', clock() + presignedMs)) === null)
    throw cannotPresignError();
  return async ({ headers, link, download, plan }: OffloadRequest): Promise<OffloadedAnswer | null> => {
    if (!canRedirect(headers, plan.status)) return null;
    const expiresAt = Math.min(link.expiresAt, clock() + presignedMs);
    const presigned = await presignDownload(storage, download, expiresAt);
    // A client adds no headers when it follows a redirect.
    if (presigned === null || Object.keys(presigned.headers).length > 0) return null;
    return { status: 302, headers: redirectHeaders(presigned.url) };
  };
}

/** By the store that has all of it: our own, or that of a source. */
async function presignDownload(
  storage: Storage,
  download: Download,
  expiresAt: number,
): Promise<PresignedUrl | null> {
  const own = downloadHeaders(download);
  const response = {
    contentType: own['Content-Type']!,
    contentDisposition: own['Content-Disposition']!,
  };
  const { storageKey: key } = download;
  if (key !== null) return storage.presign('GET', key, expiresAt, response);
  return (await download.presign?.(expiresAt, response)) ?? null;
}

/**
 * Ranges are answered here, where several at once are supported too. But a download that the store began is resumed
 * with the ETag of the store in If-Range: to this server that means the whole file, and to the store the range.
 */
function canRedirect(headers: OffloadRequest['headers'], status: number): boolean {
  return status === 200 && (headers.range === undefined || headers['if-range'] !== undefined);
}

function redirectHeaders(url: string): OffloadedAnswer['headers'] {
  return {
    Location: url,
    'Content-Length': 0,
    'Cache-Control': 'private, no-store',
    'Referrer-Policy': 'no-referrer',
  };
}

/** Refuses a way to offload that a store of this kind never supports. */
export function checkOffload(
  downloads: OffloadOptions['downloads'],
  store: { readonly presigns: boolean; readonly isDisk: boolean },
): void {
  if (downloads === 'redirect' && !store.presigns) throw cannotPresignError();
  if (downloads === 'accel' && !store.isDisk) throw needsDiskError();
}

function cannotPresignError(): WorkcrateError {
  return new WorkcrateError(
    'config_invalid',
    '--downloads redirect needs a storage that signs URLs: s3, or azure with the key of the account. ' +
      'Choose --downloads stream.',
  );
}

/** The header by which a proxy says that it supports X-Accel-Redirect. */
const accelHeader = 'x-sendfile-type';

/** Has nginx send the file from an internal location; nginx also serves its ranges. */
function createAccel(storage: Storage, prefix: string) {
  if (storage.localPath === undefined) throw needsDiskError();
  const location = `/${prefix.replaceAll(/^\/+|\/+$/g, '')}/`.replace('//', '/');
  return async ({ headers, download, plan }: OffloadRequest): Promise<OffloadedAnswer | null> => {
    const { storageKey: key } = download;
    if (key === null) return null;
    // A client that bypassed the proxy would get an empty answer.
    if (headers[accelHeader] !== 'X-Accel-Redirect') return null;
    // nginx would not ignore the Range header as this server does.
    if (headers.range !== undefined && plan.status === 200) return null;
    // nginx adds Accept-Ranges itself; from both, it would be there twice.
    const { 'Accept-Ranges': _ranges, ...own } = downloadHeaders(download);
    const to = { 'Content-Length': 0, 'X-Accel-Redirect': `${location}${storage.localPath!(key)}` };
    return { status: 200, headers: { ...own, ...to } };
  };
}

function needsDiskError(): WorkcrateError {
  return new WorkcrateError(
    'config_invalid',
    '--downloads accel needs --storage disk, since nginx reads the files. Choose --downloads stream.',
  );
}
