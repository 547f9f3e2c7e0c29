/**
 * Who gets a page, and how it is answered: programs must never get one where they expect bytes or JSON, and a page runs
 * nothing but its own script.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toPolicySource, type BrowserScript } from './browser-script.ts';
import { style } from './style.ts';

/**
 * Whether a person opens this URL in a browser. Browsers say so themselves (`Sec-Fetch-Dest`), but not over plain HTTP
 * from another machine; there they ask for HTML first, and for an upgrade to HTTPS, which no program does by default.
 * Whoever asks for a range or has a copy already wants bytes.
 */
export function isOpenedInBrowser({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (method !== 'GET' || byteHeaders.some((name) => headers[name] !== undefined)) return false;
  if (!/^\s*text\/html\b/i.test(headers.accept ?? '')) return false;
  const [destination, mode] = [headers['sec-fetch-dest'], headers['sec-fetch-mode']];
  if (destination === undefined && mode === undefined) return headers['upgrade-insecure-requests'] === '1';
  return destination === 'document' && mode === 'navigate';
}

const byteHeaders = ['range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since'] as const;

const styleSource = toPolicySource(style);

export interface PolicyTerms {
  /** The one script of the page. */
  readonly script?: BrowserScript;
  /** Whether it sends to this server. */
  readonly sends?: boolean;
  /** Whether it shows pictures, sound or frames of this server. */
  readonly shows?: boolean;
  /** Whether it has forms that are sent to this server. */
  readonly submits?: boolean;
}

/** Nothing but this very script and style runs, it speaks to this server alone, and nobody frames it. */
export function createPolicy({
  script,
  sends = false,
  shows = false,
  submits = false,
}: PolicyTerms = {}): string {
  return [
    "default-src 'none'",
    `style-src ${styleSource}`,
    ...(script === undefined ? [] : [`script-src ${script.source}`]),
    ...(sends ? ["connect-src 'self'"] : []),
    shows ? "img-src 'self' data:" : 'img-src data:',
    ...(shows ? ["media-src 'self'", "frame-src 'self'"] : []),
    `form-action ${submits ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

const toPageHeaders = (policy: string) => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': policy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  Vary: 'Accept, Sec-Fetch-Dest, Sec-Fetch-Mode',
});

/** Sends a page as the whole answer. */
export function sendPage(
  res: ServerResponse,
  status: number,
  page: string,
  policy: string,
  headers: Record<string, string | number> = {},
): void {
  const body = Buffer.from(page);
  res.writeHead(status, { ...toPageHeaders(policy), 'Content-Length': body.length, ...headers });
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

/**
 * The same for routes of the framework. Its address is no secret as that of a link is, and without a referrer a browser
 * would send forms as if from nowhere.
 */
export const toPageResponse = (page: string, status: number, policy: string): Response =>
  new Response(page, { status, headers: { ...toPageHeaders(policy), 'Referrer-Policy': 'same-origin' } });

/** What a page that a user stored may do in a frame of ours: show its text, its style and pictures that are in it. */
export const storedPagePolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/** Such a page, or a sentence in its place. */
export const toStoredPageResponse = (page: Uint8Array | string, status: number): Response =>
  new Response(typeof page === 'string' ? page : new Uint8Array(page), {
    status,
    headers: {
      ...toPageHeaders(storedPagePolicy),
      'Content-Type': `text/${typeof page === 'string' ? 'plain' : 'html'}; charset=utf-8`,
      'X-Frame-Options': 'SAMEORIGIN',
    },
  });
