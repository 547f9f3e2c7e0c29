/**
 * Requests to the issuer of tokens, within limits of time and size, and with a pause after a failure. It does not know
 * what the answers mean: `oauth.ts` does.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { isLoopbackHost } from '../../platform/net/addresses.ts';
import {
  fetchBounded,
  FetchError,
  type FetchAnswer,
  type FetchPolicy,
  type FetchRequest,
} from '../../platform/net/bounded-fetch.ts';

export const removeTrailingSlash = (url: string): string => url.replace(/\/$/, '');

/** Keys and tokens must not be changed on the way; on this machine nobody is on the way. */
export function isSafeIssuerUrl(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? {};
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname ?? ''));
}

export function checkIssuerUrl(url: string | null): string {
  if (url === null) throw new WorkcrateError('config_invalid', '--auth oauth needs --oauth-issuer.');
  if (isSafeIssuerUrl(url)) return url;
  throw new WorkcrateError(
    'config_invalid',
    '--oauth-issuer must be an https:// URL; http:// is allowed only for this machine.',
  );
}

/** The issuer cannot be reached, so its tokens cannot be checked. The caller is not at fault. */
export class IssuerDown extends Error {
  override readonly name = 'IssuerDown';
}

const issuerFetchPolicy: FetchPolicy = { timeoutMs: 5000, maxBytes: 1024 ** 2, privateAddresses: 'allowed' };
/** For so long after a failure nothing is asked again: callers would only queue up behind the same timeout. */
const failurePauseMs = 3000;

/** Fetches JSON of an issuer within bounds of time and size. Null where there is nothing at that address. */
export const fetchJson = (url: string): Promise<unknown> =>
  askIssuer(url, { headers: { Accept: 'application/json' } }, async (answer) => {
    if (answer.status >= 400 && answer.status < 500) return null;
    if (answer.status !== 200) throw new IssuerDown(`${url} answered ${answer.status}.`);
    return JSON.parse(await answer.text()) as unknown;
  });

/** Sends a form to an issuer, and gives its answer, also one that refuses. */
export const postForm = (
  url: string,
  headers: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, string>>,
): Promise<{ status: number; body: unknown }> => {
  const body = new URLSearchParams(fields).toString();
  const kind = { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' };
  return askIssuer(url, { method: 'POST', headers: { ...kind, ...headers }, body }, async (answer) => {
    if (answer.status >= 500) throw new IssuerDown(`${url} answered ${answer.status}.`);
    return { status: answer.status, body: JSON.parse(await answer.text()) as unknown };
  });
};

async function askIssuer<T>(
  url: string,
  request: FetchRequest,
  read: (answer: FetchAnswer) => Promise<T>,
): Promise<T> {
  try {
    return await fetchBounded(url, request, issuerFetchPolicy, read);
  } catch (cause) {
    if (cause instanceof FetchError)
      throw new IssuerDown(`${url} could not be read: ${cause.message}.`, { cause });
    // Its message quotes what was answered, which may be a token.
    if (cause instanceof SyntaxError) throw new IssuerDown(`${url} answered something else than JSON.`);
    throw cause;
  }
}

/** Repeats a failure for a moment in place of asking again. */
export function pauseAfterFailure<T>(ask: () => Promise<T>): () => Promise<T> {
  let failed: { error: IssuerDown; until: number } | null = null;
  return async () => {
    if (failed !== null && performance.now() < failed.until) throw failed.error;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof IssuerDown) failed = { error, until: performance.now() + failurePauseMs };
      throw error;
    }
  };
}
