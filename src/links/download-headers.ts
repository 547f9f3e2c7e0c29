import { createHash } from 'node:crypto';
import { create } from 'content-disposition';
import type { Download } from './download.ts';

/** Types that a browser would run as a page of ours if it opened them. */
const active = /^(?:text\/html|text\/xml|application\/xml|[a-z]+\/[a-z0-9.-]+\+xml)\b/i;

export function etagOf(download: Download): string {
  const { sha256, version } = download;
  return `"${sha256 ?? `v-${hashOf(version ?? '')}`}"`;
}

/** A version may hold anything, such as quotes, or what is nobody's business. */
function hashOf(version: string): string {
  return createHash('sha256').update(version).digest('hex').slice(0, 32);
}

const made = new WeakMap<Download, Record<string, string>>();

/** The headers that every answer about a download carries, whatever its status. */
export function downloadHeaders(download: Download): Record<string, string> {
  const headers = made.get(download) ?? makeHeaders(download);
  made.set(download, headers);
  return headers;
}

/**
 * The name under which a file is saved. `curl -OJ` and the like write it into the folder that they are in: nobody who
 * fetches a link should get a `.bashrc` or `.envrc` that runs at the next shell, or a name that reads as an option.
 */
const visibleName = (filename: string): string => (/^[.-]/.test(filename) ? `_${filename}` : filename);

function makeHeaders(download: Download): Record<string, string> {
  return {
    'Content-Type': download.mediaType,
    'Content-Disposition': create(visibleName(download.filename)),
    ETag: etagOf(download),
    'Last-Modified': new Date(download.modified).toUTCString(),
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    ...(active.test(download.mediaType) ? { 'Content-Security-Policy': 'sandbox' } : {}),
  };
}
