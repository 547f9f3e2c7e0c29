import type { Clock } from '../clock.ts';
import { WorkcrateError } from '../errors.ts';
import type { PresignedUrl, Storage } from '../storage/storage.ts';
import { downloadHeaders } from './download-headers.ts';
import type { Download } from './download.ts';
import type { Asked, Handed } from './hand-over.ts';

/** A presigned URL cannot be revoked, so it is good for little longer than it takes to follow it. */
const presignedMs = 60_000;

/** Sends clients on to a URL of the object store. Refuses to start on a storage that gives none. */
export async function createRedirect(storage: Storage, clock: Clock) {
  if ((await storage.presign('GET', 'files/none', clock() + presignedMs)) === null) throw cannotPresign();
  return async ({ headers, link, download, plan }: Asked): Promise<Handed | null> => {
    if (!isForTheStore(headers, plan.status)) return null;
    const expiresAt = Math.min(link.expiresAt, clock() + presignedMs);
    const presigned = await presign(storage, download, expiresAt);
    // Who follows a redirect adds no headers to it.
    if (presigned === null || Object.keys(presigned.headers).length > 0) return null;
    return { status: 302, headers: redirectHeaders(presigned.url) };
  };
}

/** By the store that has all of it: ours, or that of a source. */
async function presign(
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
 * Ranges are answered here, where several at once are known too. But a download that the store began is resumed with
 * the store's own ETag in If-Range, which makes it a whole one here, and a range again over there.
 */
function isForTheStore(headers: Asked['headers'], status: number): boolean {
  return status === 200 && (headers.range === undefined || headers['if-range'] !== undefined);
}

function redirectHeaders(url: string): Handed['headers'] {
  return {
    Location: url,
    'Content-Length': 0,
    'Cache-Control': 'private, no-store',
    'Referrer-Policy': 'no-referrer',
  };
}

function cannotPresign(): WorkcrateError {
  return new WorkcrateError(
    'config_invalid',
    '--downloads redirect needs a storage that signs URLs: s3, or azure with the key of the account. ' +
      'Choose --downloads stream.',
  );
}
